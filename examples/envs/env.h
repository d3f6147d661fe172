/* env.h - what the environments of this folder share: the same bits from every compiler
   SPDX-License-Identifier: MIT OR Unlicense

   ENV_BEGIN .. ENV_END            code between them is compiled without fused multiply-adds
   env_sincos, env_sincos_horner   sine and cosine, to about one unit in the last place
   env_put, env_get                numbers as bytes, little-endian on every machine */
#ifndef ENV_H
#define ENV_H
#ifndef RESNHARPG_H /* a program that has it need not say where it is */
#include "resnharpg.h"
#endif
#include <string.h> /* memcpy */

/* Pairs of lanes (tree-slp-vectorize) cost more than they save here. */
#if defined(__clang__)
#define ENV_BEGIN _Pragma("STDC FP_CONTRACT OFF")
#define ENV_END   _Pragma("STDC FP_CONTRACT DEFAULT")
#elif defined(__GNUC__) && !defined(__TINYC__)
#define ENV_BEGIN                                                                                  \
    _Pragma("GCC push_options")                                                                    \
        _Pragma("GCC optimize(\"fp-contract=off\", \"no-tree-slp-vectorize\")")
#define ENV_END _Pragma("GCC pop_options")
#else
#define ENV_BEGIN
#define ENV_END
#endif

/* ENV_INLINE: compiled anew wherever it is called, so that constant arguments are known inside */
#if defined(__GNUC__) && !defined(__TINYC__)
#define ENV_INLINE static inline __attribute__((always_inline, unused))
#define ENV_FN     static __attribute__((unused))
#else
#define ENV_INLINE static
#define ENV_FN     static
#endif

ENV_BEGIN

/* ---- sine and cosine. With z = a^2:
        sin a = a + a z S(z),    S(z) = -1/3! + z/5! - z^2/7! + ..
        cos a = 1 - z/2 + z^2 C(z),    C(z) = 1/4! - z/6! + z^2/8! - ..
   The two functions below sum S and C in different orders: of the angles that CartPole meets, 7
   sines in 10000 and 6 cosines in a million differ in the last bit. So neither can stand in for the
   other: CartPole's numbers are Gym's to the last bit, and the tests keep those of planar.h as
   hashes. */
static const double env_sin_series[7] = {
    -1.6666666666666666e-1, 8.333333333333333e-3,   -1.984126984126984e-4, 2.7557319223985893e-6,
    -2.505210838544172e-8,  1.6059043836821613e-10, -7.647163731819816e-13};
static const double env_cos_series[7] = {
    4.1666666666666664e-2, -1.388888888888889e-3,   2.48015873015873e-5,  -2.755731922398589e-7,
    2.08767569878681e-9,   -1.1470745597729725e-11, 4.779477332387385e-14};

/* Term by term. For |a| < 0.25 the error is just over half a unit in the last place. Beyond 0.8 the
   angle is halved first, and the result doubled again: exact enough for a pole that has fallen. */
ENV_INLINE double env_horner(const double *t, double z) {
    return t[0] + z * (t[1] + z * (t[2] + z * (t[3] + z * (t[4] + z * (t[5] + z * t[6])))));
}

ENV_FN void env_sincos_horner(double a, double *s, double *c) {
    int halvings = 0;
    double z, h, w;
    if (!(a < 1e6 && a > -1e6)) a = 0;
    for (; a > 0.8 || a < -0.8; a *= 0.5) halvings++;
    z = a * a;
    h = 0.5 * z;
    w = 1.0 - h;
    *s = a + a * z * env_horner(env_sin_series, z);
    *c = w + (((1.0 - w) - h) + z * z * env_horner(env_cos_series, z)); /* with what w lost */
    for (; halvings > 0; halvings--) {
        const double t = 2.0 * *s * *c;
        *c = 1.0 - 2.0 * *s * *s;
        *s = t;
    }
}

/* Pair by pair, which is quicker. a = k pi/2 + r with |r| <= pi/4, then the series. Adding
   1.5 * 2^52 rounds to an integer and leaves it in the low bits. Angles beyond 1e5 and NaN count
   as 0. */
ENV_INLINE double env_pairs(const double *t, double z, double z2) {
    return (t[0] + z * t[1]) + z2 * ((t[2] + z * t[3]) + z2 * ((t[4] + z * t[5]) + z2 * t[6]));
}

ENV_INLINE void env_sincos(double a, double *s, double *c) {
    const double round = 6755399441055744.0;
    double k, r, z, z2, h, w, p, q;
    uint64_t bits;
    if (!(a < 1e5 && a > -1e5)) a = 0;
    k = a * 0.6366197723675814 + round;
    memcpy(&bits, &k, 8);
    k -= round;
    /* pi/2 in two parts; k times the first is exact */
    r = (a - k * 1.5707963267341256) - k * 6.077100506506192e-11;
    z = r * r;
    h = 0.5 * z;
    w = 1.0 - h;
    z2 = z * z;
    p = r + r * z * env_pairs(env_sin_series, z, z2);
    q = w + (((1.0 - w) - h) + z2 * env_pairs(env_cos_series, z, z2));
    *s = bits & 1 ? q : p;
    *c = bits & 1 ? p : q;
    if (bits & 2) *s = -*s;
    if ((bits + 1) & 2) *c = -*c;
}

ENV_END

/* ---- n numbers as 8 n bytes */
ENV_FN void env_put(const double *x, int n, unsigned char *to) {
    uint64_t bits;
    int i, b;
    for (i = 0; i < n; i++) {
        memcpy(&bits, &x[i], 8);
        for (b = 0; b < 8; b++) *to++ = (unsigned char)(bits >> (8 * b));
    }
}

ENV_FN void env_get(double *x, int n, const unsigned char *from) {
    uint64_t bits;
    int i, b;
    for (i = 0; i < n; i++) {
        for (b = 0, bits = 0; b < 8; b++) bits |= (uint64_t)*from++ << (8 * b);
        memcpy(&x[i], &bits, 8);
    }
}
#endif
