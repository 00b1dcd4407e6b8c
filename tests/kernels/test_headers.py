"""Headers of the kernels: each is whole by itself, and what is wrong with one is said in one line that names it."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest
import warp as wp
from warp._src.build import build_cpu, build_cuda

from pbd_gym.kernels.native import FOLDER, MODULE_OPTIONS, call
from pbd_gym.runtime.compilation import compiling
from pbd_gym.runtime.compiler_errors import compiler_errors, describe

HEADERS = sorted(path.name for path in FOLDER.glob("*.h"))


STAND_INS = """
#define PBD_CPU_BLOCKS 1
#if !defined(__CUDA_ARCH__)
#define CUDA_CALLABLE
#else
#define CUDA_CALLABLE __host__ __device__
#endif
CUDA_CALLABLE void wp_cpu_tile_sync();
CUDA_CALLABLE double sqrt(double a);
CUDA_CALLABLE double atan2(double a, double b);
typedef unsigned long size_t;
namespace wp {
template <class A> CUDA_CALLABLE A sqrt(A a);
template <class A> CUDA_CALLABLE A sin(A a);
template <class A> CUDA_CALLABLE A abs(A a);
template <class A> CUDA_CALLABLE A floor(A a);
template <class A> CUDA_CALLABLE A ceil(A a);
template <class A> CUDA_CALLABLE A pow(A a, A b);
template <unsigned Length, class A> struct vec_t {
    A c[Length];
    CUDA_CALLABLE vec_t();
    template <class... B> CUDA_CALLABLE vec_t(B... numbers);
    CUDA_CALLABLE A& operator[](int k);
    CUDA_CALLABLE const A& operator[](int k) const;
};
template <unsigned Length, class A> CUDA_CALLABLE vec_t<Length, A> operator+(vec_t<Length, A> a, vec_t<Length, A> b);
template <unsigned Length, class A> CUDA_CALLABLE vec_t<Length, A> operator-(vec_t<Length, A> a, vec_t<Length, A> b);
template <unsigned Length, class A> CUDA_CALLABLE vec_t<Length, A> operator*(vec_t<Length, A> a, A b);
template <unsigned Length, class A> CUDA_CALLABLE vec_t<Length, A> operator*(A a, vec_t<Length, A> b);
template <unsigned Length, class A> CUDA_CALLABLE A dot(vec_t<Length, A> a, vec_t<Length, A> b);
template <class A> CUDA_CALLABLE vec_t<3, A> cross(vec_t<3, A> a, vec_t<3, A> b);
template <int Rows, int Columns, class A> struct mat_t { A data[Rows][Columns]; };
template <class A> CUDA_CALLABLE A min(A a, A b);
template <class A> CUDA_CALLABLE A max(A a, A b);
template <class A, class... Indices> CUDA_CALLABLE char* address(A& array, Indices... indices);
}
"""
"""What headers know of Warp."""
TARGETS = {"thread": 1, "block": 32, "cuda": 128}
"""What a header is compiled for, and threads of a block."""


def build(target: str, code: str, folder: Path, out: Path) -> None:
    """Compile code with Warp's compilers, but without Warp's own headers, which take long."""
    out.mkdir(exist_ok=True)
    source = out / ("code.cu" if target == "cuda" else "code.cpp")
    defined = f"#define WP_TILE_BLOCK_DIM {TARGETS[target]}\n"
    source.write_text(f"{defined}{STAND_INS}{code}\n")
    compiled = str(out / "code.out")
    wp.init()
    if target == "cuda":
        build_cuda(str(source), 80, f"{compiled}.ptx", pch_dir=None, extra_include_dirs=[str(folder)])
    else:
        build_cpu(compiled, str(source), block_dim=TARGETS[target], extra_include_dirs=[str(folder)])


def test_every_header_is_included() -> None:
    """Guards against a header that stands in the folder and that no kernel sees."""
    included = re.findall(r'^#include "(.*)"$', (FOLDER / "pbd.h").read_text(), re.MULTILINE)
    assert included == sorted(set(HEADERS) - {"pbd.h"})


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", HEADERS)
def test_a_header_is_whole_by_itself(name: str, target: str, tmp_path: Path) -> None:
    """Guards what editors rely on: a header includes all that it uses, and may be included twice."""
    text = (FOLDER / name).read_text()
    assert text.startswith("// ") and text.count("#pragma once") == 1
    build(target, f'#include "{name}"\n#include "{name}"', FOLDER, tmp_path)


def changed(tmp_path: Path, name: str, old: str, new: str) -> Path:
    """A copy of the headers, with one of them changed."""
    folder = tmp_path / "native"
    shutil.copytree(FOLDER, folder)
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1))
    return folder


def message(target: str, code: str, folder: Path, out: Path) -> str:
    """What is said of code that is in error."""
    with pytest.raises(RuntimeError) as caught, compiling():
        build(target, code, folder, out)
    text = str(caught.value)
    assert "\n" not in text and "kernels do not compile: " in text and "code.c" not in text
    return text


@pytest.mark.parametrize("target", TARGETS)
def test_an_error_names_the_line_of_the_header(target: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = changed(tmp_path, "lanes.h", "float root(float a) { return", "float root(float a) { return nonsense +")
    lines = (folder / "lanes.h").read_text().split("\n")
    (line,) = (number for number, text in enumerate(lines, start=1) if "nonsense" in text)
    text = message(target, '#include "pbd.h"', folder, tmp_path / "out")
    assert f"{folder}/lanes.h:{line}: " in text and "nonsense" in text
    assert "error" not in capfd.readouterr().err


@pytest.mark.parametrize("target", TARGETS)
def test_a_missing_header_names_the_line_that_wants_it(target: str, tmp_path: Path) -> None:
    """Guards an installed package that is not whole."""
    folder = changed(tmp_path, "lanes.h", "Lanes", "Lanes")
    (folder / "lanes.h").unlink()
    text = message(target, '#include "collider_response.h"', folder, tmp_path / "out")
    assert re.search(rf"{folder}/collider_response\.h:\d+: .*lanes\.h", text)


@pytest.mark.parametrize("target", TARGETS)
def test_an_unknown_option_names_the_function_that_does_not_have_it(target: str, tmp_path: Path) -> None:
    called = call("respond_to_collider", "pbd::Lanes<float, 1>", True, False, 7, arguments="a, 0, a")
    text = message(target, f'#include "pbd.h"\nCUDA_CALLABLE void f(int& a) {{ {called} }}', FOLDER, tmp_path)
    assert f"{FOLDER}/collider_response.h:" in text


def test_kernels_with_headers_share_what_is_precompiled_with_others() -> None:
    """Guards the first start: a folder to search is a flag of Clang's, and Warp precompiles its headers for each set.

    That takes longer than most kernels.
    """
    assert MODULE_OPTIONS["extra_build_options"].extra_cpu_include_dirs == []


def test_a_kernel_that_does_not_compile_says_why() -> None:
    """Guards the whole way, from a launch on."""

    @wp.func_native(call("no_such_function", 1, arguments="number"))
    def native(number: int) -> None: ...

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS, enable_backward=False)
    def run():
        native(0)

    with pytest.raises(RuntimeError, match=r"kernels do not compile: .*no_such_function"), compiling():
        wp.launch(run, 1, [], device="cpu")


def test_what_is_no_compiler_error_is_left_alone(capfd: pytest.CaptureFixture[str]) -> None:
    """Guards other errors, and lines that others write to standard error meanwhile."""
    with pytest.raises(KeyError, match="mine"), compiler_errors():
        os.write(2, b"said meanwhile\n")
        raise KeyError("mine")
    assert "said meanwhile" in capfd.readouterr().err
    with compiler_errors():
        os.write(2, b"/a/b.h:3:1: warning: odd\nand why\n")
        print("last", file=sys.stderr)
    assert "b.h:3:1: warning: odd\nand why\n" in capfd.readouterr().err
    assert describe("/a/b.h:3:1: warning: odd\n") is None
