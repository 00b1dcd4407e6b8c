/* The limit that pbd_gym's fluids are measured against: W6 by hand, in C, for the vector unit of the machine it is
   compiled on.

   The same arithmetic as the engine's (position-based fluids with Wendland's C2 kernel, density of walls, one XSPH pass,
   IEEE square root) in the layout that was measured to be fastest: lists of neighbours once a step, positions and
   multipliers in rows of four, eight neighbours at once, gradients of pairs kept for the correction. Nothing else is in
   the way: walls are five planes, without friction; there are no grips, checks or options. Needs GCC or Clang. */

#include <math.h>
#include <stdlib.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#define CHUNK 8
#define CAPACITY 64
#define ROOM 4096

typedef float V __attribute__((vector_size(4 * CHUNK)));
typedef int I __attribute__((vector_size(4 * CHUNK)));

struct fluid {
    float radius, support, amplitude, slope, softness, xsph, gravity, h;
    int iterations, planes;
    float plane[6][4];  /* inward normal and offset */
};

static inline V load(const float *p) { V v; memcpy(&v, p, sizeof v); return v; }
static inline void store(float *p, V v) { memcpy(p, &v, sizeof v); }
static inline V all(float a) { return a - (V){0}; }

static inline V root(V a)
{
#if defined(__AVX2__)
    return (V)_mm256_sqrt_ps((__m256)a);
#else
    for (int k = 0; k < CHUNK; ++k) a[k] = __builtin_sqrtf(a[k]);
    return a;
#endif
}

static inline V positive(V a)
{
#if defined(__AVX2__)
    return (V)_mm256_max_ps((__m256)a, _mm256_setzero_ps());
#else
    return (V)((I)a & (a > 0.0f));
#endif
}

static inline float sum(V a) { return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7])); }

static inline void gather(const float *rows, const int *at, V *x, V *y, V *z, V *w)
{
#if defined(__AVX2__)
#define PAIR(k) _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(rows + 4 * at[k])), \
                                     _mm_loadu_ps(rows + 4 * at[(k) + 4]), 1)
    const __m256 a = PAIR(0), b = PAIR(1), c = PAIR(2), d = PAIR(3);
    const __m256 t0 = _mm256_unpacklo_ps(a, b), t1 = _mm256_unpackhi_ps(a, b);
    const __m256 t2 = _mm256_unpacklo_ps(c, d), t3 = _mm256_unpackhi_ps(c, d);
    *x = (V)_mm256_shuffle_ps(t0, t2, 0x44);
    *y = (V)_mm256_shuffle_ps(t0, t2, 0xEE);
    *z = (V)_mm256_shuffle_ps(t1, t3, 0x44);
    *w = (V)_mm256_shuffle_ps(t1, t3, 0xEE);
#else
    for (int k = 0; k < CHUNK; ++k) {
        const float *const p = rows + 4 * at[k];
        (*x)[k] = p[0]; (*y)[k] = p[1]; (*z)[k] = p[2]; (*w)[k] = p[3];
    }
#endif
}

/* Those of eight numbers whose bit is set, side by side. */
static inline int pack(int *to, I rows, I chosen)
{
#if defined(__AVX2__) && defined(__BMI2__)
    const unsigned hits = (unsigned)_mm256_movemask_ps((__m256)chosen);
    const unsigned long long wide = _pdep_u64(hits, 0x0101010101010101ull) * 0xFF;
    const __m128i which = _mm_cvtsi64_si128((long long)_pext_u64(0x0706050403020100ull, wide));
    _mm256_storeu_si256((__m256i *)to, _mm256_permutevar8x32_epi32((__m256i)rows, _mm256_cvtepu8_epi32(which)));
    return __builtin_popcount(hits);
#else
    int n = 0;
    for (int k = 0; k < CHUNK; ++k) if (chosen[k]) to[n++] = rows[k];
    return n;
#endif
}

struct scratch {
    int *cell, *order, *list, *length, *start, cells;
    float *rows, *speeds, *spots, *gradients, *to, *lambda;
};

static struct scratch reserve(int n)
{
    struct scratch s = {0};
    s.cell = malloc(sizeof(int) * n);
    s.order = malloc(sizeof(int) * n);
    s.length = malloc(sizeof(int) * n);
    s.list = aligned_alloc(64, sizeof(int) * CAPACITY * n);
    s.gradients = aligned_alloc(64, 3 * sizeof(float) * CAPACITY * n);
    s.rows = aligned_alloc(64, 64 * (n / 4 + 2));
    s.speeds = aligned_alloc(64, 64 * (n / 4 + 2));
    s.spots = malloc(3 * sizeof(float) * (n + CHUNK));
    s.to = malloc(3 * sizeof(float) * n);
    s.lambda = malloc(sizeof(float) * (n + 1));
    return s;
}

static void release(struct scratch s)
{
    void *const all_of_it[] = {s.cell, s.order, s.length, s.list, s.gradients, s.rows, s.speeds, s.spots, s.to,
                               s.lambda, s.start};
    for (unsigned k = 0; k < sizeof all_of_it / sizeof *all_of_it; ++k) free(all_of_it[k]);
}

/* Predicted positions sorted by cells of the support radius over their bounding box, and lists of neighbours. */
static void search(const struct fluid *f, int n, const float *at, struct scratch *s)
{
    const float inv = 1.0f / f->support;
    float low[3] = {1e9f, 1e9f, 1e9f}, high[3] = {-1e9f, -1e9f, -1e9f};
    for (int i = 0; i < n; ++i)
        for (int a = 0; a < 3; ++a) {
            low[a] = fminf(low[a], at[3 * i + a]);
            high[a] = fmaxf(high[a], at[3 * i + a]);
        }
    int size[3];
    for (int a = 0; a < 3; ++a) size[a] = (int)((high[a] - low[a]) * inv) + 3;
    const int cells = size[0] * size[1] * size[2];
    if (cells > s->cells) {
        free(s->start);
        s->start = malloc(sizeof(int) * (cells + 1));
        s->cells = cells;
    }
    int *const start = s->start;
    memset(start, 0, sizeof(int) * (cells + 1));
    for (int i = 0; i < n; ++i) {
        int c[3];
        for (int a = 0; a < 3; ++a) c[a] = (int)((at[3 * i + a] - low[a]) * inv) + 1;
        s->cell[i] = (c[2] * size[1] + c[1]) * size[0] + c[0];
        ++start[s->cell[i]];
    }
    for (int c = 1; c <= cells; ++c) start[c] += start[c - 1];
    for (int i = n - 1; i >= 0; --i) s->order[--start[s->cell[i]]] = i;
    const int stride = n + CHUNK;
    for (int k = 0; k < n; ++k)
        for (int a = 0; a < 3; ++a) s->spots[a * stride + k] = s->rows[4 * k + a] = at[3 * s->order[k] + a];
    for (int a = 0; a < 3; ++a) s->rows[4 * n + a] = 1e9f;
    s->rows[4 * n + 3] = 0.0f;

    float x[ROOM + CHUNK], y[ROOM + CHUNK], z[ROOM + CHUNK];
    int found[ROOM + CHUNK];
    const V limit = all(f->support * f->support);
    for (int c = 0; c < cells; ++c) {
        if (start[c] == start[c + 1]) continue;
        int count = 0;
        for (int line = 0; line < 9; ++line) {
            const int first = c + ((line / 3 - 1) * size[1] + line % 3 - 1) * size[0] - 1;
            const int from = start[first], end = start[first + 3];
            for (int k = from; k < end; k += CHUNK) {
                const I row = k + (I){0, 1, 2, 3, 4, 5, 6, 7};
                store(x + count + k - from, load(s->spots + k));
                store(y + count + k - from, load(s->spots + stride + k));
                store(z + count + k - from, load(s->spots + 2 * stride + k));
                memcpy(found + count + k - from, &row, sizeof row);
            }
            count += end - from;
        }
        store(x + count, all(1e9f));
        for (int i = start[c]; i < start[c + 1]; ++i) {
            int *const list = s->list + CAPACITY * i;
            int length = 0;
            for (int k = 0; k < count && length <= CAPACITY - CHUNK; k += CHUNK) {
                const V dx = load(x + k) - s->rows[4 * i], dy = load(y + k) - s->rows[4 * i + 1];
                const V dz = load(z + k) - s->rows[4 * i + 2];
                I row;
                memcpy(&row, found + k, sizeof row);
                length += pack(list + length, row, (dx * dx + dy * dy + dz * dz < limit) & (row != i));
            }
            while (length % CHUNK) list[length++] = n;
            s->length[i] = length;
        }
    }
}

/* Density beyond a wall at distance d, and how fast it falls off. */
static inline float behind(float d, float support, float *fall)
{
    const float q = fabsf(d) / support, e = q < 1.0f ? 1.0f - q : 0.0f, e4 = e * e * e * e;
    const float share = e4 * e * e * (3.5f + e * (-4.5f + e * 1.5f));
    *fall = e4 * e * (21.0f + e * (-31.5f + e * 12.0f)) / support;
    return d < 0.0f ? 1.0f - share : share;
}

static void sweep(const struct fluid *f, int n, struct scratch *s)
{
    const V inv = all(1.0f / f->support), none = {0};
    float *gradient = s->gradients;
    for (int i = 0; i < n; ++i) {
        const float *const p = s->rows + 4 * i;
        const int *const list = s->list + CAPACITY * i;
        V weight = none, sx = none, sy = none, sz = none, squares = none;
        for (int k = 0; k < s->length[i]; k += CHUNK, gradient += 3 * CHUNK) {
            V qx, qy, qz, unused;
            gather(s->rows, list + k, &qx, &qy, &qz, &unused);
            const V dx = p[0] - qx, dy = p[1] - qy, dz = p[2] - qz, d2 = dx * dx + dy * dy + dz * dz;
            const V e = positive(1.0f - root(d2) * inv), cube = e * e * e;
            const V gx = cube * dx, gy = cube * dy, gz = cube * dz;
            weight += cube * e * (5.0f - 4.0f * e);
            sx += gx;
            sy += gy;
            sz += gz;
            squares += cube * cube * d2;
            store(gradient, gx);
            store(gradient + CHUNK, gy);
            store(gradient + 2 * CHUNK, gz);
        }
        float open = 1.0f, wx = 0.0f, wy = 0.0f, wz = 0.0f;
        for (int k = 0; k < f->planes; ++k) {
            const float *const w = f->plane[k], d = w[0] * p[0] + w[1] * p[1] + w[2] * p[2] - w[3];
            if (d >= f->support) continue;
            float fall;
            const float rest = 1.0f - behind(d, f->support, &fall);
            wx = wx * rest - open * fall * w[0];
            wy = wy * rest - open * fall * w[1];
            wz = wz * rest - open * fall * w[2];
            open *= rest;
        }
        const float over = f->amplitude * (sum(weight) + 1.0f) - open;
        const float ux = wx - f->slope * sum(sx), uy = wy - f->slope * sum(sy), uz = wz - f->slope * sum(sz);
        const float below = f->slope * f->slope * sum(squares) + ux * ux + uy * uy + uz * uz + f->softness;
        const float lambda = -(over > 0.0f ? over : 0.0f) / below;
        s->lambda[i] = lambda;
        s->to[3 * i] = lambda * wx;
        s->to[3 * i + 1] = lambda * wy;
        s->to[3 * i + 2] = lambda * wz;
    }
    s->lambda[n] = 0.0f;
    gradient = s->gradients;
    for (int i = 0; i < n; ++i) {
        const int *const list = s->list + CAPACITY * i;
        V mx = none, my = none, mz = none;
        for (int k = 0; k < s->length[i]; k += CHUNK, gradient += 3 * CHUNK) {
            const int *const t = list + k;
            const float *const l = s->lambda;
            const V both = (V){l[t[0]], l[t[1]], l[t[2]], l[t[3]], l[t[4]], l[t[5]], l[t[6]], l[t[7]]} + l[i];
            mx += both * load(gradient);
            my += both * load(gradient + CHUNK);
            mz += both * load(gradient + 2 * CHUNK);
        }
        float *const p = s->rows + 4 * i;
        p[0] += s->to[3 * i] - f->slope * sum(mx);
        p[1] += s->to[3 * i + 1] - f->slope * sum(my);
        p[2] += s->to[3 * i + 2] - f->slope * sum(mz);
        for (int k = 0; k < f->planes; ++k) {
            const float *const w = f->plane[k];
            const float depth = f->radius - (w[0] * p[0] + w[1] * p[1] + w[2] * p[2] - w[3]);
            if (depth > 0.0f)
                for (int a = 0; a < 3; ++a) p[a] += depth * w[a];
        }
    }
}

/* Velocities from the change of positions x, which become the new ones, and XSPH. */
static void settle(const struct fluid *f, int n, struct scratch *s, float *x, float *v)
{
    const V inv = all(1.0f / f->support), none = {0};
    for (int k = 0; k < n; ++k)
        for (int a = 0; a < 3; ++a) {
            float *const old = x + 3 * s->order[k] + a;
            s->speeds[4 * k + a] = (s->rows[4 * k + a] - *old) / f->h;
            *old = s->rows[4 * k + a];
        }
    memset(s->speeds + 4 * n, 0, 4 * sizeof(float));
    for (int i = 0; i < n; ++i) {
        const float *const p = s->rows + 4 * i, *const own = s->speeds + 4 * i;
        const int *const list = s->list + CAPACITY * i;
        V total = none, sx = none, sy = none, sz = none;
        for (int k = 0; k < s->length[i]; k += CHUNK) {
            V qx, qy, qz, vx, vy, vz, unused;
            gather(s->rows, list + k, &qx, &qy, &qz, &unused);
            gather(s->speeds, list + k, &vx, &vy, &vz, &unused);
            const V dx = p[0] - qx, dy = p[1] - qy, dz = p[2] - qz;
            const V e = positive(1.0f - root(dx * dx + dy * dy + dz * dz) * inv);
            const V weight = e * e * (e * e) * (5.0f - 4.0f * e);
            total += weight;
            sx += weight * vx;
            sy += weight * vy;
            sz += weight * vz;
        }
        const float scale = f->xsph * f->amplitude, weight = sum(total);
        float *const to = v + 3 * s->order[i];
        to[0] = own[0] + scale * (sum(sx) - weight * own[0]);
        to[1] = own[1] + scale * (sum(sy) - weight * own[1]);
        to[2] = own[2] + scale * (sum(sz) - weight * own[2]);
    }
}

/* Advance environments of n particles each by some steps of h, in place. */
void control_step(int envs, int n, int steps, const struct fluid *f, float *x_all, float *v_all)
{
    struct scratch s = reserve(n);
    float *const predicted = malloc(3 * sizeof(float) * n);
    for (int env = 0; env < envs; ++env)
        for (int step = 0; step < steps; ++step) {
            float *const x = x_all + 3L * n * env, *const v = v_all + 3L * n * env;
            for (int k = 0; k < 3 * n; ++k) {
                if (k % 3 == 1) v[k] += f->h * f->gravity;
                predicted[k] = x[k] + f->h * v[k];
            }
            search(f, n, predicted, &s);
            for (int iteration = 0; iteration < f->iterations; ++iteration) sweep(f, n, &s);
            settle(f, n, &s, x, v);
        }
    free(predicted);
    release(s);
}
