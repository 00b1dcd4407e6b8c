// Inner loops of rendering on a CPU, on several neighbouring pixels or sample points at a time.
#pragma once
#include "block.h"
#include "lanes.h"

#if !PBD_BLOCK

namespace pbd {

// Offsets into a triangle's coefficients (pbd_gym/rendering/pictures/triangle_colors.py). Each quantity has three:
// factors of x and y, and a constant.
template <int Nearness, int Normal, int Color, int Edge, int Width, int Dark, int Reach, int Least>
struct TriangleNumbers {
    static constexpr int NEARNESS = Nearness, NORMAL = Normal, COLOR = Color, EDGE = Edge;
    static constexpr int WIDTH = Width, DARK = Dark, REACH = Reach, LEAST = Least;
};

// Arithmetic on COUNT points of a picture's row.
template <int COUNT>
struct Pixels {
    using V = typename Register<float, COUNT>::type;
    using I = typename Register<int, COUNT>::type;

    // Offsets of the points, from 0 in steps of `step`.
    PBD_INLINE static V places(float step) {
        V found;
        for (int k = 0; k < COUNT; ++k) found[k] = (float)k * step;
        return found;
    }

    // Linear function of the place in the picture, from three coefficients.
    PBD_INLINE static V linear(const float* numbers, V px, float py) {
        PBD_CONTRACT_ON
        return numbers[0] * px + (numbers[1] * py + numbers[2]);
    }

    PBD_INLINE static V size(V a) { return a < 0.0f ? -a : a; }
    PBD_INLINE static V smaller(V a, V b) { return a < b ? a : b; }

    // Each number, clamped to [0, 1].
    PBD_INLINE static V unit(V a) { return a > 1.0f ? V(1.0f) : at_least(a, 0.0f); }

    // Lengths of vectors.
    PBD_INLINE static V length(V x, V y, V z) {
        PBD_CONTRACT_ON
        return __builtin_elementwise_sqrt(at_least(x * x + y * y + z * z, 1e-30f));
    }
};

// Compute the colour of triangle `t` at `count` points one pixel apart, from (x, y) to the right.
//
// Colours go into the columns of `row_colors`, shape (3, columns), from `at` on; up to COUNT - 1 columns after them are
// overwritten. The lighting is that of pbd_gym.rendering.batched.vertices.shade: half Lambert, a Blinn-Phong highlight,
// and a term for surfaces that face the eye.
template <class Numbers, int COUNT, class Coefficients, class Vector, class Colors>
inline void color_span(const Coefficients& coefficients, int t, float x, float py, int count, float focal,
                       const Vector& light, const Vector& up, int at, const Colors& row_colors) {
    PBD_CONTRACT_ON
    using P = Pixels<COUNT>;
    using V = typename P::V;
    const float* const f = (const float*)((const char*)coefficients.data + (long long)t * coefficients.strides[0]);
    float* const out = row_colors.data;
    const long long width = row_colors.shape[1];
    const V lane = P::places(1.0f);
    for (long long n = 0; n < count; n += COUNT) {
        const V px = lane + (x + (float)n);
        const V over = 1.0f / P::linear(f + Numbers::NEARNESS, px, py);
        V nx = P::linear(f + Numbers::NORMAL, px, py), ny = P::linear(f + Numbers::NORMAL + 3, px, py);
        V nz = P::linear(f + Numbers::NORMAL + 6, px, py);
        const V shrink = 1.0f / P::length(nx, ny, nz);
        nx *= shrink;
        ny *= shrink;
        nz *= shrink;
        // Directions to the eye, and half-way from there to the light.
        const float slope = py / focal;
        V ex = px / -focal, ey = V(slope), ez = V(-1.0f);
        const V reach = 1.0f / P::length(ex, ey, ez);
        ex *= reach;
        ey *= reach;
        ez *= reach;
        const V hx = ex + light.c[0], hy = ey + light.c[1], hz = ez + light.c[2];
        const V lit = P::unit((nx * light.c[0] + ny * light.c[1] + nz * light.c[2]) * 0.6f + 0.4f);
        const V gloss = P::unit((nx * hx + ny * hy + nz * hz) / P::length(hx, hy, hz));
        const V g2 = gloss * gloss, g4 = g2 * g2, g8 = g4 * g4;
        const V facing = P::unit(nx * ex + ny * ey + nz * ez);
        const V upward = nx * up.c[0] + ny * up.c[1] + nz * up.c[2];
        const V bright = (0.42f + 0.05f * upward + 0.54f * lit + 0.17f * facing) * over;
        const V shine = 26.0f * (g8 * g8 * g8 * g4);
        V dark = V(f[Numbers::LEAST]);
        for (int k = 0; k < 3; ++k) {
            if (f[Numbers::DARK + k] == 0.0f) continue;
            const V gap = P::linear(f + Numbers::EDGE + 3 * k, px, py) * f[Numbers::WIDTH + k];
            const V line = f[Numbers::DARK + k] * P::unit(f[Numbers::REACH + k] - P::size(gap));
            dark = line > dark ? line : dark;
        }
        dark = 1.0f - dark;
        for (int k = 0; k < 3; ++k)
            *(V*)(out + k * width + at + n) = dark * (bright * P::linear(f + Numbers::COLOR + 3 * k, px, py) + shine);
    }
}

// Colour the pixels of a row that show the same triangle at all sample points. Returns how many show several
// primitives, or a round one; their columns are in `mixed`.
template <class Primitives, class Colors, class Picture, class Columns>
inline int settle_pixels(int y, int left, int right, int samples, int triangles, const Primitives& primitive,
                         const Colors& row_colors, const Picture& picture, const Columns& mixed) {
    PBD_CONTRACT_ON
    const long long stride = primitive.shape[1];
    const int* const first = primitive.data + (long long)y * samples * stride;
    unsigned char* const out = picture.data + (long long)y * picture.strides[0];
    const float* const color = row_colors.data;
    const long long columns = row_colors.shape[1];
    int count = 0;
    for (long long x = left; x < right; ++x) {
        const int* const points = first + x * samples;
        const int t = *points;
        bool alike = true;
        for (int j = 0; j < samples; ++j)
            for (int i = 0; i < samples; ++i) alike &= points[j * stride + i] == t;
        if (!alike || t >= triangles) {
            mixed.data[count++] = (int)x;
        } else if (t >= 0) {
            for (int k = 0; k < 3; ++k) {
                const float value = color[k * columns + x] + 0.5f;
                out[3 * x + k] = (unsigned char)(value < 0.0f ? 0.0f : value > 255.0f ? 255.0f : value);
            }
        }
    }
    return count;
}

// Reset a part of the picture, so that only the ground is visible.
template <class Numbers, class Primitives>
inline void clear_points(int left, int top, int right, int bottom, const Numbers& ground,
                         const Primitives& nearest_primitive, const Numbers& near) {
    for (long long y = top; y < bottom; ++y) {
        int* const primitives = nearest_primitive.data + y * nearest_primitive.shape[1];
        float* const nearest = near.data + y * near.shape[1];
        const float* const behind = ground.data + y * ground.shape[1];
        for (long long x = left; x < right; ++x) {
            primitives[x] = -1;
            nearest[x] = behind[x];
        }
    }
}

// Draw triangle `t` where it is nearest; for wireframes, only along its lines.
template <class Numbers, int COUNT, class Coefficients, class Box, class Primitives, class Nearness>
inline void fill_points(int t, const Coefficients& coefficients, const Box& box, float step, float first_x,
                        float first_y, float farthest, bool wire, bool line0, bool line1, bool line2,
                        const Primitives& nearest_primitive, const Nearness& near) {
    PBD_CONTRACT_ON
    using P = Pixels<COUNT>;
    using V = typename P::V;
    using I = typename P::I;
    constexpr float WIRE = 0.55f;  // half line width [pixels]
    const float* const f = (const float*)((const char*)coefficients.data + (long long)t * coefficients.strides[0]);
    const float* const edge = f + Numbers::EDGE;
    const float* const width = f + Numbers::WIDTH;
    const long long stride = near.shape[1];
    const V lane = P::places(step);
    for (long long y = box.c[1]; y < box.c[3]; ++y) {
        const float py = (float)y * step + first_y;
        for (long long x = box.c[0]; x < box.c[2]; x += COUNT) {
            const V px = lane + ((float)x * step + first_x);
            const V a = P::linear(edge, px, py), b = P::linear(edge + 3, px, py), c = P::linear(edge + 6, px, py);
            const V nearness = a + b + c;
            V* const nearest = (V*)(near.data + y * stride + x);
            const V before = *nearest;
            // Some tolerance, so that rounding leaves no gap between neighbours.
            const V least = P::smaller(a, P::smaller(b, c));
            I found = least >= -1e-4f * nearness & nearness > before & nearness < farthest;
            if (wire) {
                I lines = I(0);
                if (line0) lines |= P::size(a) * width[0] < WIRE;
                if (line1) lines |= P::size(b) * width[1] < WIRE;
                if (line2) lines |= P::size(c) * width[2] < WIRE;
                found &= lines;
            }
            if (__builtin_reduce_or(found) == 0) continue;
            I* const primitives = (I*)(nearest_primitive.data + y * stride + x);
            *nearest = found ? nearness : before;
            *primitives = found ? I(t) : *primitives;
        }
    }
}

}  // namespace pbd

#endif
