/* The limit that pbd_gym is measured against: W1 by hand, in C, for the vector unit of the machine it is compiled on.

   The same arithmetic as the engine's (XPBD distance constraints, Gauss-Seidel, one iteration a substep, IEEE square
   root and division) in the same data layout (16 environments side by side: x is [group][particle][xyz][16]), with
   nothing else in the way: no colliders, grips, checks or options. Needs GCC or Clang. */

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#define LANES 16

typedef float V __attribute__((vector_size(4 * LANES)));
typedef int M __attribute__((vector_size(4 * LANES)));

static inline V load(const float *p) { V v; memcpy(&v, p, sizeof v); return v; }
static inline void store(float *p, V v) { memcpy(p, &v, sizeof v); }
static inline V pick(M mask, V yes, V no) { return (V)((mask & (M)yes) | (~mask & (M)no)); }

static inline V root(V a)
{
#if defined(__AVX512F__)
    return (V)_mm512_sqrt_ps((__m512)a);
#elif defined(__AVX__)
    __m256 half[2];
    memcpy(half, &a, sizeof a);
    half[0] = _mm256_sqrt_ps(half[0]);
    half[1] = _mm256_sqrt_ps(half[1]);
    memcpy(&a, half, sizeof a);
    return a;
#elif defined(__aarch64__)
    float32x4_t part[4];
    memcpy(part, &a, sizeof a);
    for (int k = 0; k < 4; ++k) part[k] = vsqrtq_f32(part[k]);
    memcpy(&a, part, sizeof a);
    return a;
#else
    for (int k = 0; k < LANES; ++k) a[k] = __builtin_sqrtf(a[k]);
    return a;
#endif
}

struct constraint { int a, b; float rest, compliance; };

static void sweep(const struct constraint *list, int count, float inv_h2, float *x, const float *w)
{
    const V low = 1e-30f - (V){0};
    for (int c = 0; c < count; ++c) {
        float *const p = x + 3 * LANES * list[c].a, *const q = x + 3 * LANES * list[c].b;
        const V px = load(p), py = load(p + LANES), pz = load(p + 2 * LANES);
        const V qx = load(q), qy = load(q + LANES), qz = load(q + 2 * LANES);
        const V wp = load(w + LANES * list[c].a), wq = load(w + LANES * list[c].b);
        const V dx = qx - px, dy = qy - py, dz = qz - pz;
        const V length = root(dx * dx + dy * dy + dz * dz);
        V below = (wp + wq + list[c].compliance * inv_h2) * length;
        below = pick(below > low, below, low);
        const V s = (list[c].rest - length) / below, sp = s * wp, sq = s * wq;
        store(p, px - dx * sp);
        store(p + LANES, py - dy * sp);
        store(p + 2 * LANES, pz - dz * sp);
        store(q, qx + dx * sq);
        store(q + LANES, qy + dy * sq);
        store(q + 2 * LANES, qz + dz * sq);
    }
}

/* Advance groups of 16 environments by one control step of substeps x h, in place. */
void control_step(int groups, int particles, int count, const struct constraint *list, const float *gravity,
                  int substeps, float h, float *x_all, float *previous_all, float *velocity_all, const float *w_all)
{
    const float inv_h = 1.0f / h;
    for (int group = 0; group < groups; ++group) {
        const long first = 3L * LANES * particles * group;
        float *const x = x_all + first, *const previous = previous_all + first, *const velocity = velocity_all + first;
        const float *const w = w_all + (long)LANES * particles * group;
        for (int i = 0; i < particles; ++i) {
            const M free = load(w + LANES * i) > 0.0f;
            for (int axis = 0; axis < 3; ++axis) {
                const long k = LANES * (3 * i + axis);
                const V p = load(x + k);
                const V fall = pick(free, gravity[axis] * h - (V){0}, (V){0});
                store(previous + k, p);
                store(x + k, p + h * (load(velocity + k) + fall));
            }
        }
        for (int substep = 0; substep < substeps; ++substep) {
            sweep(list, count, inv_h * inv_h, x, w);
            const int last = substep + 1 == substeps;
            for (int i = 0; i < particles; ++i) {
                const M free = load(w + LANES * i) > 0.0f;
                for (int axis = 0; axis < 3; ++axis) {
                    const long k = LANES * (3 * i + axis);
                    const V p = load(x + k);
                    const V v = (p - load(previous + k)) * inv_h;
                    if (last) {
                        store(velocity + k, v);
                    } else {
                        const V fall = pick(free, gravity[axis] * h - (V){0}, (V){0});
                        store(previous + k, p);
                        store(x + k, p + h * (v + fall));
                    }
                }
            }
        }
    }
}
