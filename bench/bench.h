/* bench.h - what every benchmark here needs: a clock, statistics of noisy timings, random numbers,
   the arithmetic limit of the machine. Include it first: it asks POSIX for the clock. */
#ifndef BENCH_H
#define BENCH_H
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>
#define BENCH_X86 1
#else
#define BENCH_X86 0
#endif

#if defined(__GNUC__)
#define BENCH_UNUSED __attribute__((unused))
#else
#define BENCH_UNUSED
#endif
#ifndef BENCH_FLAGS
#define BENCH_FLAGS "flags not given"
#endif

/* ---- time */
static BENCH_UNUSED double bench_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The processor's time of this thread: what it took while others had the machine in turns. */
static BENCH_UNUSED double bench_cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* BENCH_QUICK=1 in the environment: fewer repetitions, a few seconds */
static BENCH_UNUSED int bench_quick(void) {
    const char *e = getenv("BENCH_QUICK");
    return e && *e && strcmp(e, "0") != 0;
}

/* Timings of one thing. Others use the machine too, and they only ever add time: the least is the
   best estimate. */
typedef struct bench_stat {
    double s[64];
    int n;
} bench_stat;

static BENCH_UNUSED void bench_add(bench_stat *b, double seconds) {
    if (b->n < 64) b->s[b->n++] = seconds;
}

static BENCH_UNUSED double bench_min(const bench_stat *b) {
    double m = b->n ? b->s[0] : 0;
    for (int i = 1; i < b->n; i++) m = b->s[i] < m ? b->s[i] : m;
    return m;
}

/* ---- memory and random numbers */
static BENCH_UNUSED void *bench_alloc(size_t count, size_t size) {
    void *p = calloc(count ? count : 1, size);
    if (!p) {
        fprintf(stderr, "bench: out of memory\n");
        exit(1);
    }
    return p;
}

/* splitmix64 */
static BENCH_UNUSED uint64_t bench_random(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static BENCH_UNUSED double bench_uniform(uint64_t *state) {
    return (double)(bench_random(state) >> 11) * 0x1p-53;
}

/* twelve uniforms: near enough to normal, and quick */
static BENCH_UNUSED double bench_gauss(uint64_t *state) {
    double s = -6;
    for (int i = 0; i < 6; i++) {
        uint64_t r = bench_random(state);
        s += (double)(r >> 32) * 0x1p-32 + (double)(r & 0xFFFFFFFFu) * 0x1p-32;
    }
    return s;
}

/* ---- the arithmetic limit */
/* Registers only: twelve accumulators, each a = a*x + y, enough to hide the latency of a
   multiply-add. They start apart, as equal chains would be merged into one. */
#define BENCH_PEAK_STEPS 100000
static BENCH_UNUSED volatile float bench_sink;
#if BENCH_X86
/* clang-format off */

#define BENCH_PEAK_START(V, SET)                                                                   \
    float s = bench_sink;                                                                          \
    V x = SET(0.5f), y = SET(s), a0 = y, a1 = SET(s + 1), a2 = SET(s + 2), a3 = SET(s + 3),        \
      a4 = SET(s + 4), a5 = SET(s + 5), a6 = SET(s + 6), a7 = SET(s + 7), a8 = SET(s + 8),         \
      a9 = SET(s + 9), a10 = SET(s + 10), a11 = SET(s + 11);

#define BENCH_PEAK_CHAINS(OP)                                                                      \
    for (long i = 0; i < steps; i++) {                                                             \
        a0 = OP(a0, x, y), a1 = OP(a1, x, y), a2 = OP(a2, x, y), a3 = OP(a3, x, y);                \
        a4 = OP(a4, x, y), a5 = OP(a5, x, y), a6 = OP(a6, x, y), a7 = OP(a7, x, y);                \
        a8 = OP(a8, x, y), a9 = OP(a9, x, y), a10 = OP(a10, x, y), a11 = OP(a11, x, y);            \
    }

/* clang-format on */
#define BENCH_SUM8(ADD)  ADD(ADD(ADD(a0, a1), ADD(a2, a3)), ADD(ADD(a4, a5), ADD(a6, a7)))
#define BENCH_SUM12(ADD) ADD(BENCH_SUM8(ADD), ADD(ADD(a8, a9), ADD(a10, a11)))

__attribute__((target("avx512f"))) static BENCH_UNUSED void bench_peak_avx512(long steps) {
    BENCH_PEAK_START(__m512, _mm512_set1_ps)
    BENCH_PEAK_CHAINS(_mm512_fmadd_ps)
    bench_sink = _mm512_cvtss_f32(BENCH_SUM12(_mm512_add_ps));
}

__attribute__((target("avx2,fma"))) static BENCH_UNUSED void bench_peak_avx2(long steps) {
    BENCH_PEAK_START(__m256, _mm256_set1_ps)
    BENCH_PEAK_CHAINS(_mm256_fmadd_ps)
    bench_sink = _mm256_cvtss_f32(BENCH_SUM12(_mm256_add_ps));
}

static BENCH_UNUSED __m128 bench_multiply_add(__m128 a, __m128 x, __m128 y) {
    return _mm_add_ps(_mm_mul_ps(a, x), y);
}

static BENCH_UNUSED void bench_peak_sse2(long steps) {
    BENCH_PEAK_START(__m128, _mm_set1_ps)
    BENCH_PEAK_CHAINS(bench_multiply_add)
    bench_sink = _mm_cvtss_f32(BENCH_SUM12(_mm_add_ps));
}
#else
/* 96 accumulators the compiler may put into vectors */
static BENCH_UNUSED void bench_peak_plain(long steps) {
    float a[96], x = 0.5f, y = bench_sink;
    for (int k = 0; k < 96; k++) a[k] = y + (float)k;
    for (long i = 0; i < steps; i++)
        for (int k = 0; k < 96; k++) a[k] = a[k] * x + y;
    for (int k = 1; k < 96; k++) a[0] += a[k];
    bench_sink = a[0];
}
#endif

/* multiply-adds per second */
static BENCH_UNUSED double bench_peak_of(void (*kernel)(long), double lanes) {
    bench_stat b = {{0}, 0};
    for (int i = 0; i < 50; i++) {
        double start = bench_cpu();
        kernel(BENCH_PEAK_STEPS);
        bench_add(&b, bench_cpu() - start);
    }
    return 12.0 * BENCH_PEAK_STEPS * lanes / bench_min(&b);
}

static BENCH_UNUSED double bench_peak(const char **with) {
#if BENCH_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f"))
        return *with = "AVX-512 fma", bench_peak_of(bench_peak_avx512, 16);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return *with = "AVX2 fma", bench_peak_of(bench_peak_avx2, 8);
    return *with = "SSE2 multiply and add", bench_peak_of(bench_peak_sse2, 4);
#else
    return *with = "compiled multiply-add", bench_peak_of(bench_peak_plain, 8);
#endif
}

/* The limit of code without fma, in the widest vectors that AVX2 has: a multiplication and an
   addition for each lane. The empty asm makes x look new each time, so that no product is kept. */
#if BENCH_X86
/* clang-format off */
#define BENCH_PRODUCTS(NAME, V, T, SET, MUL, ADD, FIRST)                                           \
    __attribute__((target("avx2"))) static BENCH_UNUSED void NAME(long steps) {                    \
        T s = (T)bench_sink;                                                                       \
        V a[12], x = SET(s), y = SET(s + 1);                                                       \
        for (int k = 0; k < 12; k++) a[k] = SET((T)k);                                             \
        for (long i = 0; i < steps; i++)                                                           \
            _Pragma("GCC unroll 12") for (int k = 0; k < 12; k++) {                                \
                __asm__ volatile("" : "+x"(x));                                                    \
                a[k] = ADD(a[k], MUL(x, y));                                                       \
            }                                                                                      \
        for (int k = 1; k < 12; k++) a[0] = ADD(a[0], a[k]);                                       \
        bench_sink = (float)FIRST(a[0]);                                                           \
    }
BENCH_PRODUCTS(bench_products_float, __m256, float, _mm256_set1_ps, _mm256_mul_ps, _mm256_add_ps,
               _mm256_cvtss_f32)
BENCH_PRODUCTS(bench_products_double, __m256d, double, _mm256_set1_pd, _mm256_mul_pd,
               _mm256_add_pd, _mm256_cvtsd_f64)
/* clang-format on */
#endif

/* multiplications and additions (pairs of them) per second; bytes: of a number, 4 or 8 */
static BENCH_UNUSED double bench_product_peak(size_t bytes, const char **with) {
#if BENCH_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && bytes == 4)
        return *with = "AVX2, no fma", bench_peak_of(bench_products_float, 8);
    if (__builtin_cpu_supports("avx2"))
        return *with = "AVX2, no fma", bench_peak_of(bench_products_double, 4);
    return *with = "SSE2", bench_peak_of(bench_peak_sse2, 4) * 4 / (double)bytes;
#else
    return *with = "as compiled", bench_peak_of(bench_peak_plain, 8) * 4 / (double)bytes;
#endif
}

/* The limit of memory, or of the cache the rows lie in: read the bytes and do next to nothing, in
   one stream or in several at once (the bytes of the last, incomplete step are left out). */
#if BENCH_X86
#define BENCH_LOAD(at) _mm256_loadu_si256((const __m256i *)(const void *)(at))
__attribute__((target("avx2"))) static BENCH_UNUSED void bench_read_avx2(const char *p, size_t n,
                                                                         size_t streams) {
    const size_t part = n / streams;
    __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
    for (size_t i = 0; i + 128 <= part; i += 128)
        for (const char *q = p + i; q < p + streams * part; q += part) {
            a = _mm256_xor_si256(a, BENCH_LOAD(q));
            b = _mm256_xor_si256(b, BENCH_LOAD(q + 32));
            c = _mm256_xor_si256(c, BENCH_LOAD(q + 64));
            d = _mm256_xor_si256(d, BENCH_LOAD(q + 96));
        }
    a = _mm256_xor_si256(_mm256_xor_si256(a, b), _mm256_xor_si256(c, d));
    bench_sink = (float)_mm256_extract_epi32(a, 0);
}
#endif

static BENCH_UNUSED void bench_read_plain(const char *p, size_t n, size_t streams) {
    const size_t part = n / streams;
    uint64_t a[8] = {0}, b[8];
    for (size_t i = 0; i + sizeof b <= part; i += sizeof b)
        for (const char *q = p + i; q < p + streams * part; q += part) {
            memcpy(b, q, sizeof b);
            for (int k = 0; k < 8; k++) a[k] ^= b[k];
        }
    for (int k = 1; k < 8; k++) a[0] ^= a[k];
    bench_sink = (float)(a[0] & 255);
}

static BENCH_UNUSED void bench_read(const void *p, size_t n, size_t streams) {
#if BENCH_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2")) {
        bench_read_avx2((const char *)p, n, streams);
        return;
    }
#endif
    bench_read_plain((const char *)p, n, streams);
}

/* ---- what machine, what build */
static BENCH_UNUSED void bench_print_build(void) {
#if defined(__clang__)
    printf("clang %s", __clang_version__);
#elif defined(__GNUC__)
    printf("gcc %s", __VERSION__);
#else
    printf("unknown compiler");
#endif
    printf(" | %s | compiled for:", BENCH_FLAGS);
#if defined(__AVX512F__)
    printf(" avx512f");
#elif defined(__AVX2__)
    printf(" avx2%s",
#if defined(__FMA__)
           " fma"
#else
           ""
#endif
    );
#elif defined(__SSE2__)
    printf(" sse2");
#else
    printf(" baseline");
#endif
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
    __builtin_cpu_init();
    printf(" | cpu has:%s%s%s%s", __builtin_cpu_supports("sse4.2") ? " sse4.2" : "",
           __builtin_cpu_supports("avx2") ? " avx2" : "",
           __builtin_cpu_supports("fma") ? " fma" : "",
           __builtin_cpu_supports("avx512f") ? " avx512f" : "");
#endif
    printf("%s\n", bench_quick() ? " | quick" : "");
}
#endif /* BENCH_H */
