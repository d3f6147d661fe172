/* The mathematics inside resnharpg.h against the C library in long double: error in ulp, edges,
   arrays against scalars, and golden hashes of the result bits, which must be the same on every
   platform, compiler and option.
   Built twice: float, and double with AGG_DOUBLE; errors are measured for the type of the build. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) /* what is inlined here from the header follows the options of this file */
#pragma GCC optimize("fp-contract=off")
#endif
#define AGGREGATORS_IMPLEMENTATION
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include "greatest.h"
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#ifdef AGG_DOUBLE /* the header has the functions that its precision needs, and no others */
#define FLOAT(f)  NULL
#define DOUBLE(f) f
#else
#define FLOAT(f)  f
#define DOUBLE(f) NULL
#endif

enum { FN_EXP, FN_TANH, FN_FLOATS, FN_LOG = FN_FLOATS, FN_COS, FN_SQRT, FN_SQRT_SOFT, FN_COUNT };

static const struct function {
    const char *name;
    float (*f32)(float);
    double (*f64)(double);
    long double (*ref)(long double);
    double ulp32, ulp64; /* errors allowed */
    uint64_t hash32, hash64;
} functions[FN_COUNT] = {
    {"exp", FLOAT(rni_expf), rni_exp, expl, 1.1, 1.0, 0xcc37cc99bacd1688u, 0x832d58dc92e309f4u},
    {"tanh", FLOAT(rni_tanhf), DOUBLE(rni_tanh), tanhl, 1.5, 1.6, 0x77595117e2079023u,
     0xc10616e730d2b003u},
    {"log", NULL, aggi_log, logl, 0, 1.0, 0, 0x799333ec47ab4b4eu}, /* from here on double alone */
    {"cos", NULL, rni_cos, cosl, 0, 1.0, 0, 0x10ca84e1cf215d22u},
    {"sqrt", NULL, aggi_sqrt, sqrtl, 0, 0.501, 0, 0xe13a9a111310df87u},
    {"soft sqrt", NULL, aggi_sqrt_soft, sqrtl, 0, 0.501, 0, 0xe13a9a111310df87u},
};

static const double two53 = 9007199254740992.0;
static char message[160]; /* of the failure being reported */

static float f32_of(uint32_t b) {
    float x;
    memcpy(&x, &b, sizeof x);
    return x;
}

static double f64_of(uint64_t b) {
    double x;
    memcpy(&x, &b, sizeof x);
    return x;
}

static uint32_t b32_of(float x) {
    uint32_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

static uint64_t b64_of(double x) {
    uint64_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

/* splitmix64 */
static uint64_t random_bits(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* |x| below about 2^20, above 2^-20: where the work is done */
static double moderate(uint64_t bits) {
    return f64_of((bits & 0x800fffffffffffffu) | ((1003u + (bits >> 52) % 40u) << 52));
}

/* a reference for every x: cos is documented as that of 0 beyond 2^20 */
static long double reference(int fn, long double x) {
    if (fn == FN_COS && fabsl(x) > 1048576.0L && fabsl(x) <= (long double)DBL_MAX) x = 0.0L;
    return functions[fn].ref(x);
}

/* |got - want| in units of the last place of want, for a type of `digits` bits; 0 if both are NaN
   or the same Inf */
static double ulp_error(long double got, long double want, int digits, int min_exp,
                        long double max) {
    const int max_exp = digits == FLT_MANT_DIG ? FLT_MAX_EXP : DBL_MAX_EXP;
    const long double half_ulp_over = max + ldexpl(1.0L, max_exp - digits - 1);
    int e;
    if (isnan(got) || isnan(want)) return isnan(got) && isnan(want) ? 0.0 : HUGE_VAL;
    if (isinf(got)) return got * want > 0 && fabsl(want) >= half_ulp_over ? 0.0 : HUGE_VAL;
    if (isinf(want)) return HUGE_VAL;
    (void)frexpl(want, &e);
    if (e < min_exp || want == 0.0L) e = min_exp;
    return (double)(fabsl(got - want) / ldexpl(1.0L, e - digits));
}
#ifndef AGG_DOUBLE
static double error32(int fn, float x) {
    return ulp_error((long double)functions[fn].f32(x), reference(fn, (long double)x), FLT_MANT_DIG,
                     FLT_MIN_EXP, (long double)FLT_MAX);
}
#else
static double error64(int fn, double x) {
    return ulp_error((long double)functions[fn].f64(x), reference(fn, (long double)x), DBL_MANT_DIG,
                     DBL_MIN_EXP, (long double)DBL_MAX);
}
#endif

typedef struct worst {
    double error, x;
} worst;

static void note(worst *w, double error, double x) {
    if (!(error <= w->error)) {
        w->error = error;
        w->x = x;
    }
}

static int judge(int fn, worst w, double bound) {
    printf("    %-9s worst error %.4f ulp at %.17g\n", functions[fn].name, w.error, w.x);
    if (w.error <= bound) return 1;
    snprintf(message, sizeof message, "%s: %g ulp at %.17g, allowed %g", functions[fn].name,
             w.error, w.x, bound);
    return 0;
}

#ifndef AGG_DOUBLE
/* every 3001st of all floats */
TEST float_errors(void) {
    for (int fn = 0; fn < FN_FLOATS; fn++) {
        worst w = {0.0, 0.0};
        for (uint64_t b = 0; b <= 0xffffffffu; b += 3001) {
            const float x = f32_of((uint32_t)b);
            note(&w, error32(fn, x), (double)x);
        }
        if (!judge(fn, w, functions[fn].ulp32)) FAILm(message);
    }
    PASS();
}

/* 2^-8 .. 2^17, denser */
TEST float_errors_where_it_matters(void) {
    for (int fn = 0; fn < FN_FLOATS; fn++) {
        worst w = {0.0, 0.0};
        for (uint32_t b = 0x3b800000u; b < 0x48000000u; b += 499)
            note(&w, error32(fn, f32_of(b)), (double)f32_of(b));
        if (!judge(fn, w, functions[fn].ulp32)) FAILm(message);
    }
    PASS();
}

TEST float_bounds_and_symmetry(void) {
    for (uint64_t b = 0; b <= 0x7f800000u; b += 1009) {
        const float x = f32_of((uint32_t)b), t = rni_tanhf(x);
        ASSERT(t >= 0 && t <= 1 && rni_expf(x) >= 1 && rni_expf(-x) <= 1);
        ASSERT(b32_of(rni_tanhf(-x)) == (b32_of(t) ^ 0x80000000u));
    }
    PASS();
}
#else
/* long double that is no longer than double cannot judge the last bit: then a bit is allowed for
   the reference */
static double bound64(int fn) { return functions[fn].ulp64 + (LDBL_MANT_DIG < 64 ? 1.0 : 0.0); }

/* all exponents, then moderate, then the range of exp */
TEST double_errors(void) {
    for (int fn = 0; fn < FN_COUNT; fn++) {
        worst w = {0.0, 0.0};
        uint64_t state = 1;
        for (int i = 0; i < 600000; i++) {
            const uint64_t bits = random_bits(&state);
            const double x = i % 3 == 0   ? f64_of(bits)
                             : i % 3 == 1 ? moderate(bits)
                                          : (double)(int64_t)bits / two53;
            note(&w, error64(fn, x), x);
        }
        if (!judge(fn, w, bound64(fn))) FAILm(message);
    }
    PASS();
}

/* |x| < 2, where tanh and log have their corners */
TEST double_errors_of_small_numbers(void) {
    for (int fn = 0; fn < FN_COUNT; fn++) {
        worst w = {0.0, 0.0};
        uint64_t state = 2;
        for (int i = 0; i < 250000; i++) {
            const double x = (double)(int64_t)random_bits(&state) / two53 / 512.0;
            note(&w, error64(fn, x), x);
            note(&w, error64(fn, 1.0 + x / 1024.0), 1.0 + x / 1024.0);
        }
        if (!judge(fn, w, bound64(fn))) FAILm(message);
    }
    PASS();
}

/* where the reduction cancels most */
TEST double_near_multiples_of_half_pi(void) {
    worst w = {0.0, 0.0};
    for (uint64_t n = 1; n < 667000u; n += 1 + n / 4096) {
        const uint64_t b =
            b64_of((double)((long double)n * 1.57079632679489661923132169163975144L));
        for (uint64_t d = 0; d < 3; d++)
            note(&w, error64(FN_COS, f64_of(b + d - 1)), f64_of(b + d - 1));
    }
    if (!judge(FN_COS, w, bound64(FN_COS))) FAILm(message);
    PASS();
}

TEST double_bounds_and_symmetry(void) {
    uint64_t state = 3;
    for (int i = 0; i < 300000; i++) {
        const uint64_t bits = random_bits(&state) & 0x7fffffffffffffffu;
        const double x = i % 2 ? moderate(bits) : bits > 0x7ff0000000000000u ? 0.5 : f64_of(bits);
        const double c = rni_cos(x), t = rni_tanh(x);
        ASSERT(c >= -1 && c <= 1 && t >= 0 && t <= 1 && rni_exp(x) >= 1 && rni_exp(-x) <= 1);
        ASSERT(b64_of(rni_cos(-x)) == b64_of(c));
        ASSERT(b64_of(rni_tanh(-x)) == (b64_of(t) ^ 0x8000000000000000u));
    }
    PASS();
}
#endif

/* sqrt at and beside squares, and beside squares of midpoints between two doubles: there a wrong
   rounding would show. Judged in integers: with s = j 2^-26 (j of 27 bits) the square is exact. */
TEST sqrt_of_squares(void) {
    uint64_t state = 4;
    for (int i = 0; i < 200000; i++) {
        /* [1, 2) */
        const double s = (double)(0x4000000u + (random_bits(&state) >> 38)) / 67108864.0;
        const uint64_t b = b64_of(s * s);
        ASSERT(aggi_sqrt(s * s) == s && aggi_sqrt_soft(s * s) == s);
        for (uint64_t d = 0; d < 5; d++) {
            const double x = f64_of(b + d - 2);
            ASSERT(b64_of(aggi_sqrt(x)) == b64_of(aggi_sqrt_soft(x)));
        }
    }
    ASSERT(aggi_sqrt_soft(1.0 + DBL_EPSILON) == 1.0); /* the two near ties of the exact test */
    ASSERT(aggi_sqrt_soft(4.0 - 2.0 * DBL_EPSILON) == 2.0 - DBL_EPSILON);
    PASS();
}

#ifndef AGG_DOUBLE
TEST edges_float(void) {
    const float inf = f32_of(0x7f800000u), nan = f32_of(0x7fc00000u), tiny = f32_of(1u);
    for (int fn = 0; fn < FN_FLOATS; fn++) {
        ASSERT(isnan(functions[fn].f32(nan)) && isnan(functions[fn].f32(-nan)));
        ASSERT(isnan(functions[fn].f32(f32_of(0x7f800001u))) &&
               isnan(functions[fn].f32(f32_of(0xffffffffu))));
    }
    ASSERT(rni_expf(0.0f) == 1 && rni_expf(-0.0f) == 1 && rni_expf(inf) == inf &&
           rni_expf(tiny) == 1);
    ASSERT(b32_of(rni_expf(-inf)) == 0 && b32_of(rni_expf(-FLT_MAX)) == 0 &&
           rni_expf(FLT_MAX) == inf);
    ASSERT(rni_expf(88.7228f) > 3.4e38f && rni_expf(88.7228f) < inf && rni_expf(88.7229f) == inf);
    ASSERT(rni_expf(-103.9f) == tiny && rni_expf(-104.0f) == 0);
    ASSERT(b32_of(rni_tanhf(-0.0f)) == 0x80000000u && rni_tanhf(tiny) == tiny &&
           rni_tanhf(-tiny) == -tiny);
    ASSERT(rni_tanhf(inf) == 1 && rni_tanhf(-inf) == -1 && rni_tanhf(FLT_MAX) == 1 &&
           rni_tanhf(9.02f) == 1);
    PASS();
}
#endif

TEST edges_double(void) {
    const double inf = f64_of(0x7ff0000000000000u), nan = f64_of(0x7ff8000000000000u),
                 tiny = f64_of(1u);
    for (int fn = 0; fn < FN_COUNT; fn++) {
        if (!functions[fn].f64) continue;
        ASSERT(isnan(functions[fn].f64(nan)) && isnan(functions[fn].f64(-nan)));
        ASSERT(isnan(functions[fn].f64(f64_of(0x7ff0000000000001u))));
        ASSERT(isnan(functions[fn].f64(f64_of(0xffffffffffffffffu))));
    }
    ASSERT(rni_exp(0.0) == 1 && rni_exp(-0.0) == 1 && rni_exp(inf) == inf && rni_exp(tiny) == 1);
    ASSERT(b64_of(rni_exp(-inf)) == 0 && b64_of(rni_exp(-DBL_MAX)) == 0 && rni_exp(DBL_MAX) == inf);
    ASSERT(rni_exp(709.78) > 1.7e308 && rni_exp(709.78) < inf && rni_exp(709.79) == inf);
    ASSERT(rni_exp(-745.1) == tiny && rni_exp(-745.2) == 0);
    ASSERT(aggi_log(1.0) == 0 && aggi_log(0.0) == -inf && aggi_log(-0.0) == -inf &&
           aggi_log(inf) == inf);
    ASSERT(isnan(aggi_log(-tiny)) && isnan(aggi_log(-1.0)) && isnan(aggi_log(-inf)) &&
           aggi_log(tiny) < -744.4);
#ifdef AGG_DOUBLE
    ASSERT(b64_of(rni_tanh(-0.0)) == 0x8000000000000000u && rni_tanh(tiny) == tiny &&
           rni_tanh(-tiny) == -tiny);
    ASSERT(rni_tanh(inf) == 1 && rni_tanh(-inf) == -1 && rni_tanh(DBL_MAX) == 1 &&
           rni_tanh(19.1) == 1);
#endif
    ASSERT(rni_cos(0.0) == 1 && rni_cos(tiny) == 1);
    ASSERT(isnan(rni_cos(inf)) && isnan(rni_cos(-inf)) && rni_cos(-DBL_MAX) == 1);
    ASSERT(rni_cos(1048576.0) != 1 && rni_cos(1048576.125) == 1);
    for (int fn = FN_SQRT; fn <= FN_SQRT_SOFT; fn++) {
        double (*f)(double) = functions[fn].f64;
        ASSERT(b64_of(f(-0.0)) == 0x8000000000000000u && b64_of(f(0.0)) == 0 && f(inf) == inf &&
               f(4.0) == 2);
        ASSERT(isnan(f(-tiny)) && isnan(f(-1.0)) && isnan(f(-inf)));
        ASSERT(f(tiny) == ldexp(1.0, -537) && f(DBL_MAX) < ldexp(1.0, 512));
    }
    PASS();
}

/* ---- array forms ---- */
static int same_bits(rn_real a, rn_real b) {
    return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

static int array_is_scalar(void (*v)(rn_real *, size_t), rn_real (*f)(rn_real)) {
    enum { LONGEST = 67, GUARD = 2 };

    rn_real in[LONGEST + 2 * GUARD], out[LONGEST + 2 * GUARD];
    uint64_t state = 5;
    for (size_t n = 0; n <= LONGEST; n++)
        for (int kind = 0; kind < 4; kind++) { /* 0: any bits, so NaN, Inf and denormals too */
            for (size_t i = 0; i < LONGEST + 2 * GUARD; i++) {
                const uint64_t bits = random_bits(&state);
                in[i] = kind == 0   ? (rn_real)f64_of(bits)
                        : kind == 1 ? (rn_real)f32_of((uint32_t)bits)
                        : kind == 2 ? (rn_real)moderate(bits)
                                    : (rn_real)((double)(int64_t)bits / two53 / 128.0);
                out[i] = in[i];
            }
            v(out + GUARD, n);
            for (size_t i = 0; i < LONGEST + 2 * GUARD; i++)
                if (!same_bits(out[i], i >= GUARD && i < GUARD + n ? f(in[i]) : in[i])) return 0;
        }
    return 1;
}

static rn_real scalar_exp(rn_real x) { return RNI_EXP(x); }

TEST array_exp(void) {
    ASSERT(array_is_scalar(rni_exp_all, scalar_exp));
    PASS();
}

/* ---- golden hashes: FNV-1a over the result bits, low byte first; all NaN count as one, their
   bits are free */
static uint64_t fnv(uint64_t h, uint64_t bits, int bytes) {
    for (int i = 0; i < bytes; i++) h = (h ^ ((bits >> (8 * i)) & 0xffu)) * 0x100000001b3u;
    return h;
}

static uint64_t hash32(int fn) {
    uint64_t h = 0xcbf29ce484222325u;
    for (uint64_t b = 0; b <= 0xffffffffu; b += 8191) {
        const float y = functions[fn].f32(f32_of((uint32_t)b));
        h = fnv(h, isnan(y) ? 0x7fc00000u : b32_of(y), 4);
    }
    return h;
}

static uint64_t hash64(int fn) {
    uint64_t h = 0xcbf29ce484222325u, state = 6;
    for (int i = 0; i < 400000; i++) {
        const uint64_t bits = random_bits(&state);
        const double y = functions[fn].f64(i % 2 ? f64_of(bits) : moderate(bits));
        h = fnv(h, isnan(y) ? 0x7ff8000000000000u : b64_of(y), 8);
    }
    return h;
}

TEST golden_bits(void) {
    for (int fn = 0; fn < FN_COUNT; fn++) {
        const uint64_t a = functions[fn].f32 ? hash32(fn) : functions[fn].hash32;
        const uint64_t b = functions[fn].f64 ? hash64(fn) : functions[fn].hash64;
        if (a == functions[fn].hash32 && b == functions[fn].hash64) continue;
        snprintf(message, sizeof message, "%s: hashes are 0x%016" PRIx64 "u, 0x%016" PRIx64 "u",
                 functions[fn].name, a, b);
        FAILm(message);
    }
    PASS();
}

SUITE(math) {
#ifndef AGG_DOUBLE
    RUN_TEST(float_errors);
    RUN_TEST(float_errors_where_it_matters);
    RUN_TEST(float_bounds_and_symmetry);
    RUN_TEST(edges_float);
#else
    RUN_TEST(double_errors);
    RUN_TEST(double_errors_of_small_numbers);
    RUN_TEST(double_near_multiples_of_half_pi);
    RUN_TEST(double_bounds_and_symmetry);
#endif
    RUN_TEST(sqrt_of_squares);
    RUN_TEST(edges_double);
    RUN_TEST(array_exp);
    RUN_TEST(golden_bits);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(math);
    GREATEST_MAIN_END();
}
