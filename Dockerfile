# An image with pbd_gym and what `pbd-gym train` needs:
#   docker build --tag pbd-gym .
#   docker run --rm --volume "$PWD/runs:/work/runs" pbd-gym train PBDCloth-v0
# For GPUs (with the NVIDIA container toolkit on the host):
#   docker build --build-arg TORCH=cu126 --tag pbd-gym:gpu .
#   docker run --rm --gpus all pbd-gym:gpu train PBDCloth-v0 --device cuda:0
FROM python:3.12-slim

# Index of torch's builds: cpu (0.2 GB of wheels), or a CUDA version such as cu126 (3 GB).
ARG TORCH=cpu
# Not pinned, since no version of torch has builds for all of these; pyproject.toml sets the oldest one.
# hadolint ignore=DL3013
RUN pip install --no-cache-dir torch --index-url "https://download.pytorch.org/whl/${TORCH}"

COPY pyproject.toml README.md LICENSE /source/
COPY pbd_gym /source/pbd_gym
COPY envs /source/envs
COPY training /source/training
RUN pip install --no-cache-dir '/source[train]' && rm -r /source

# No display: pictures are drawn in software. Kernels and start states are kept in a volume across runs.
ENV SDL_VIDEODRIVER=dummy OMP_NUM_THREADS=1 WARP_CACHE_PATH=/cache/warp PBD_GYM_CACHE=/cache/starts
VOLUME /cache
WORKDIR /work
ENTRYPOINT ["pbd-gym"]
CMD ["doctor"]
