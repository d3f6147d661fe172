/* aggregators.h - v0.2.0 - Byzantine-robust aggregation - SPDX-License-Identifier: MIT OR Unlicense
   n vectors in, one vector out, of which f senders may be adversaries: MDA, trimmed mean, median,
   Krum, geometric median and their peers. One file, C99 and C++11, no allocation, no dependencies.

   In exactly one C or C++ file:                  In every other file:
       #define AGGREGATORS_IMPLEMENTATION             #include "aggregators.h"
       #include "aggregators.h"

   QUICK START (every example in this comment is compiled and run by `make test`)
       float a[] = {1,1}, b[] = {1,2}, c[] = {2,1}, d[] = {2,2}, adversary[] = {900,-900};
       const float *rows[] = { a, b, c, d, adversary };   // the mean would be 181.2 -178.8
       float out[2];
       char scratch[8192];                                // agg_scratch_size() tells how much
       agg_desc desc = agg_make_desc(AGG_MDA, 5, 2, 1);   // rule, rows, numbers a row, adversaries
       agg_status s = agg_aggregate(&desc, rows, out, scratch, sizeof scratch, NULL);
       printf("%s: %g %g\n", agg_status_text(s), out[0], out[1]);      // prints: ok: 1.5 1.5

   CONTENTS     options, the guarantee, rules, pre-aggregations, attacks, security, distances,
                memory, threads, determinism, errors, API, code, changelog, licence
   OPTIONS      before the include: AGG_STATIC (all functions static), AGG_API (own linkage),
                AGG_ASSERT(x), AGG_DOUBLE (double for float; the same in every file, a mix fails to
                link), AGG_NO_DISPATCH (do not look for AVX2 at run time; the bits stay the same)

   THE GUARANTEE
   n agents each send a row of dim numbers; at most f < n/2 of them are Byzantine and may send
   anything. A rule F is (f,lambda)-resilient if for EVERY set G of n-f rows, and so for the honest
   ones,
       ||F(x) - mean_G||  <=  lambda * max over i,j in G of ||x_i - x_j||  (Farhadkhani et al. 2022)
   agg_lambda() gives lambda; agg_resilience() measures the left side over the right for rows at
   hand. Below, D = min(sqrt(dim), 2 sqrt(n-f)). f may be an upper bound of the true number of
   adversaries. Ties go to the lower row.

   RULES        breakdown: f < n/2 unless said otherwise; costs beside reading the rows once
   MDA          minimum diameter averaging: mean of the (n-f)-subset of least diameter (of several
                the lexicographically first). lambda = 2f/(n-f). Cost n^2 dim plus a search,
                exponential in f at worst and short in practice: "is there a subset of diameter <=
                r" is "has the graph of pairs farther apart than r a vertex cover of size <= f". If
                desc.budget nodes do not settle it the status is AGG_INEXACT and the set has at most
                twice the least diameter, which gives lambda = 3f/(n-f). Rousseeuw 1985, El Mhamdi
                et al. 2018.
                Not for: thousands of rows (n^2 memory).
   CWTM         coordinate-wise trimmed mean: per coordinate, drop the f largest and f smallest
                values, average the rest. lambda = D f/(n-f). Cost n dim. Yin et al. 2018.
                Not for: rows that are good only as a whole (it mixes coordinates of many).
   MEAMED       mean around the median: per coordinate, average the n-f values closest to the
                median. lambda = 2 D f/(n-f). Cost n dim. Xie et al. 2018.
                Not for: one-sided honest noise, which it cuts off.
   CWMED        coordinate-wise median, for even n the mean of the middle two.
                lambda = D n/(2(n-f)). Cost n dim. Needs no f. Yin et al. 2018.
                Not for: many honest rows, it does not average their noise away.
   KRUM         the row with the least sum of squared distances to its n-f-1 nearest others
                (desc.classic_krum: n-f-2, as in Blanchard et al. 2017; then n > 2f+2).
                lambda = 1 + sqrt((n-f)/(n-2f)). Cost n^2 dim.
                Not for: noisy honest rows: it returns one of them, noise and all.
   MULTI_KRUM   mean of the desc.q rows (n-f if 0, at most n-f) with the best Krum scores.
                lambda as Krum. Cost n^2 dim.
   GM           geometric median: argmin_z sum_i ||z - x_i||. lambda = 1 + sqrt((n-f)^2/(n(n-2f))).
                Needs no f. Cost n^2 dim, then n^2 per iteration. Solved until a dual bound PROVES
                the value within desc.gap (1e-6) of the least; the report has the gap proven, before
                out is rounded to agg_real; AGG_INEXACT if it is larger. Rows farther off than 2^24
                times the radius of the smallest ball of a majority are first pulled in to that.
                Chen et al. 2017.
   MEAN         not resilient: one adversary moves it anywhere. lambda = 0 for f = 0, else infinite.
                Cost n dim. The baseline.
   BULYAN       pick n-2f rows by repeated Krum, then per coordinate the mean of the n-4f values
                closest to their median. Needs n >= 4f+3. Cost n^2 dim + n^3. El Mhamdi et al. 2018.
                Not for: f near n/4, it throws most rows away.
   CCLIP        centred clipping: v += mean_i (x_i - v) min(1, tau/||x_i - v||), desc.iterations
                times (3), from desc.start (coordinate-wise median if NULL; pass the last aggregate
                if you have it), tau = desc.tau (the median of ||x_i - start|| if 0). Cost n dim per
                iteration. Karimireddy et al. 2021. Not for: a start you do not trust.
   CGE          comparative gradient elimination: mean of the n-f rows of least norm. Cost n dim.
                Gupta et al. 2021. Not for: adversaries of small norm: it takes them all. No lambda:
                its error grows with the norm of the honest rows, not with their diameter.
   MONNA        mean of the n-f rows nearest to row desc.pivot, itself included. Cost n dim.
                Farhadkhani et al. 2023. Not for: a server without a row of its own to trust.
   CAF          covariance-bound agnostic filter: weights 1; again and again find the direction of
                largest weighted variance and lower the weight of rows far along it, until they sum
                to n-2f; the mean with the least variance seen. Cost n^2 dim + f n^3. Allouah et al.
                2025.
                Not for: large n (n^3) or exact guarantees (no lambda here).
   SMEA         smallest maximum eigenvalue averaging: mean of the (n-f)-subset whose covariance has
                the least top eigenvalue. Cost n^2 dim + a search, exponential in f, cut off by
                desc.budget (AGG_INEXACT, best set so far). Allouah et al. 2023. Not for: n over
                about 20.

   PRE-AGGREGATIONS  desc.pre: up to two, in order, in front of any rule; each works on the rows
                     that
                the one before it made
   AGG_PRE_NNM        nearest-neighbour mixing: every row becomes the mean of its n-f nearest rows,
                      itself included. Allouah et al. 2023.
   AGG_PRE_BUCKETING  random groups of desc.bucket (2) rows become their means; f stays, so n/bucket
                      must exceed 2f. Needs desc.rng. Karimireddy et al. 2022.
   AGG_PRE_CLIP       rows longer than desc.clip are shortened to that norm.
   AGG_PRE_ARC        adaptive robust clipping: the floor(2f(n-f)/n) longest rows are shortened to
                      the norm of the next longest. Allouah et al. 2025.

   ATTACKS      agg_attack() makes the row an adversary sends, for experiments. own: what it would
                have sent if honest; s: strength; honest mean, deviation: of all honest rows
   AGG_ATTACK_SIGN_FLIP  -s own (s = 2.5)
   AGG_ATTACK_NOISE      own + s (max own - min own) U[-1,1] per coordinate (s = 3)
   AGG_ATTACK_GAUSSIAN   own + s N(0,1) per coordinate (s = 1)
   AGG_ATTACK_ZERO       0
   AGG_ATTACK_IPM        inner product manipulation: -s honest mean (s = 0.5). Xie et al. 2019.
   AGG_ATTACK_ALIE       a little is enough: honest mean - s honest deviation per coordinate, the
                         deviation divided by the number of honest rows, s from n and f. Baruch et
                         al. 2019.
   AGG_ATTACK_MIMIC      a copy of honest row `target`. Karimireddy et al. 2022.
   AGG_ATTACK_INF        +-Inf
   AGG_ATTACK_NAN        NaN

   SECURITY     (each sentence up to "not promised" has its test: see tests/test_both_promises.c)
   Whatever numbers the rows hold and whatever desc asks for, nothing is read but the rows and
   desc.start, nothing is written but out, scratch and the report, no behaviour is undefined, and
   the call ends: searches stop at desc.budget, iterations at desc.iterations or a fixed count. What
   is wrong with a call is answered by a status before anything is written.
   A row that is NULL or has a NaN or Inf convicts its sender: it is dropped, and f shrinks with n,
   so the guarantee holds for the rest. More than f of them: AGG_ERR_ROWS. Finite rows of any size
   are handled: no sum of squares overflows or underflows its way into a wrong choice. For at most f
   hostile rows the inequality above holds, up to rounding.
   Not promised: anything when more than f agents are Byzantine and their rows are finite. That f
   adversaries do nothing: they may move the answer by lambda diameters, every time, in a direction
   they choose. That n rows are n agents: one who sends under several names has several votes. That
   suspicion proves anything. Secrecy: time depends on the numbers, and scratch keeps some of them.
   Pointers and lengths are yours: C cannot check them.

   DISTANCES    A squared distance that a rule decides by is off by at most 2^-13 of itself (double:
                2^-36), usually 2^-22, whatever the rows are: far from 0, close together, giants,
                denormals; equal rows have distance 0. Fewer than 16 rows are subtracted and the
                differences squared: 2^-18. For more, dot products are taken of the rows as seen
                from one in their middle, which takes half the time, and every pair for which that
                is not proven to be enough is done as few rows are. GM does so for all pairs, in
                double, where it must. Finite rows, whatever they hold, take at most about twice
                the time of harmless ones.

   MEMORY       every buffer is yours. scratch needs no alignment; out must not overlap a row,
                scratch or desc.start.
   THREADS      (tests: as for SECURITY) There are no variables, only constants: any function may
                run on any thread, on many at once. Calls at the same time may share desc,
                desc.start and rows, which are only read, never out, scratch or report. desc.jobs
                spreads one call over your threads: jobs may run in any order and at the same time,
                rng is only called from the calling thread. Neither changes a bit.
                Not promised: anything if rows change during a call (they are read more than once),
                or if a pool leaves a job out or does one twice.
   DETERMINISM  sums run over a fixed number of lanes in a fixed order, nothing is contracted to
                fma, no libm: the bits of out do not depend on threads, compiler, language,
                optimisation, instruction set, byte order or the width of size_t (`make portability`
                tries them). Needed: IEEE arithmetic, round to nearest, denormals kept. Other flags
                are refused where the compiler tells; clang does not tell of -ffp-contract=fast and
                -funsafe-math-optimizations: do not use them.
   ERRORS       calls return agg_status. AGG_OK and AGG_INEXACT: out is written; anything else: out
                is untouched. Nothing prints, aborts or asserts on your data. */

/* clang-format off */
#ifndef AGGREGATORS_H
#define AGGREGATORS_H
#define AGG_VERSION_MAJOR 0
#define AGG_VERSION_MINOR 2
#define AGG_VERSION_PATCH 0
#include <float.h>  /* FLT_EVAL_METHOD */
#include <stddef.h> /* size_t */
#include <stdint.h> /* uint64_t */
#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "aggregators.h: -ffast-math removes NaN checks, and NaN is the cheapest attack"
#elif defined(__GCC_IEC_559) && !__GCC_IEC_559
#error "aggregators.h: -funsafe-math-optimizations and its parts round sums as the compiler likes"
#endif
#if defined(FLT_EVAL_METHOD)
  #if FLT_EVAL_METHOD < 0 || FLT_EVAL_METHOD == 2 || (FLT_EVAL_METHOD == 1 && !defined(__GNUC__))
    #define AGG_EXCESS_PRECISION
  #endif
#elif defined(__TINYC__) && defined(__i386__)
  #define AGG_EXCESS_PRECISION
#endif
#ifdef AGG_EXCESS_PRECISION
#error "aggregators.h: excess precision (the i387) rounds differently: use -msse2 -mfpmath=sse"
#endif
#ifndef AGG_API
  #if !defined(AGG_STATIC)
    #define AGG_API extern
  #elif defined(__GNUC__)
    #define AGG_API static __attribute__((unused))
  #else
    #define AGG_API static
  #endif
#endif
#ifdef AGG_DOUBLE
  typedef double agg_real;
  /* a mixed build fails to link instead of misreading rows */
  #define agg_scratch_size agg_scratch_size_f64
  #define agg_aggregate    agg_aggregate_f64
  #define agg_attack       agg_attack_f64
  #define agg_resilience   agg_resilience_f64
#else
  typedef float agg_real;
#endif
#ifdef __cplusplus
extern "C" {
#endif

typedef enum agg_rule {  /* what each does: RULES, above */
    AGG_MDA,             /* minimum diameter averaging */
    AGG_CWTM,            /* coordinate-wise trimmed mean */
    AGG_MEAMED,          /* mean around the median */
    AGG_CWMED,           /* coordinate-wise median */
    AGG_KRUM,
    AGG_MULTI_KRUM,
    AGG_GM,              /* geometric median */
    AGG_MEAN,
    AGG_BULYAN,
    AGG_CCLIP,           /* centred clipping */
    AGG_CGE,             /* comparative gradient elimination */
    AGG_MONNA,           /* nearest neighbours of a trusted row */
    AGG_CAF,             /* covariance-bound agnostic filter */
    AGG_SMEA,            /* smallest maximum eigenvalue averaging */
    AGG_RULE_COUNT
} agg_rule;

#define AGG_STATUS_LIST(X)                                                                         \
    X(AGG_OK,          "ok")                                                                       \
    X(AGG_INEXACT,     "out is written, but budget or rounding ended it early: see the report")    \
    X(AGG_ERR_ARG,     "null pointer, zero rows, zero length, unknown rule or bad option")         \
    X(AGG_ERR_BOUND,   "f is more than this rule survives among n: see agg_max_f()")               \
    X(AGG_ERR_ROWS,    "more than f rows are missing or not finite")                               \
    X(AGG_ERR_PIVOT,   "the trusted row, MoNNA's pivot, is missing or not finite")                 \
    X(AGG_ERR_RNG,     "random numbers are needed and the callback is NULL")                       \
    X(AGG_ERR_SIZE,    "n and dim are so large that a size overflows")                             \
    X(AGG_ERR_SCRATCH, "scratch is smaller than agg_scratch_size()")
#define AGG_X(id, text) id,
typedef enum agg_status { AGG_STATUS_LIST(AGG_X) AGG_STATUS_COUNT } agg_status;
#undef AGG_X

typedef enum agg_pre {   /* PRE-AGGREGATIONS, above */
    AGG_PRE_NONE,
    AGG_PRE_NNM,         /* nearest neighbour mixing */
    AGG_PRE_BUCKETING,
    AGG_PRE_CLIP,
    AGG_PRE_ARC,         /* adaptive robust clipping */
    AGG_PRE_COUNT
} agg_pre;

typedef enum agg_attack_kind { /* ATTACKS, above */
    AGG_ATTACK_SIGN_FLIP,
    AGG_ATTACK_NOISE,
    AGG_ATTACK_GAUSSIAN,
    AGG_ATTACK_ZERO,
    AGG_ATTACK_IPM,      /* inner product manipulation */
    AGG_ATTACK_ALIE,     /* a little is enough */
    AGG_ATTACK_MIMIC,
    AGG_ATTACK_INF,
    AGG_ATTACK_NAN,
    AGG_ATTACK_COUNT
} agg_attack_kind;

typedef struct agg_rng {          /* random numbers from the caller */
    uint64_t (*next)(void *self); /* 64 random bits */
    void *self;
} agg_rng;

/* A job pool of the caller's. run calls job(arg, 0 .. count-1), in any order and on any threads,
   and returns when all are done; run == NULL: everything happens on the calling thread. */
typedef void agg_job(void *arg, size_t index);
typedef struct agg_jobs {
    void (*run)(void *self, size_t count, agg_job *job, void *arg);
    void *self;
} agg_jobs;

/* Zero it or use agg_make_desc(). Fields are only ever added at the end. */
typedef struct agg_desc {
    size_t   n;            /* rows                            required */
    size_t   dim;          /* numbers per row                 required */
    size_t   f;            /* adversaries to survive          0 = trust everybody */
    agg_rule rule;         /*                                 0 = AGG_MDA */
    agg_pre  pre[2];       /* before the rule, in order       0 = none */
    int      classic_krum; /* Krum, Multi-Krum, Bulyan        0 = n-f-1 neighbours, 1 = n-f-2 */
    size_t   q;            /* Multi-Krum: rows averaged       0 = n-f, the most */
    size_t   pivot;        /* MoNNA: the row you trust        0 = the first */
    size_t   bucket;       /* bucketing: rows per bucket      0 = 2 */
    double   clip;         /* AGG_PRE_CLIP: largest norm      required there, > 0 */
    double   tau;          /* CClip: clipping radius          0 = median distance to the start */
    size_t   iterations;   /* CClip                           0 = 3 */
    const agg_real *start; /* CClip: dim numbers              NULL = coordinate-wise median */
    double   gap;          /* GM: relative gap to prove, <= 1 0 = 1e-6 */
    size_t   budget;       /* MDA, SMEA: search nodes         0 = 2^26/(n ceil(n/64)), but at least
                                                              1000 and at most 100000 */
    agg_rng  rng;          /* bucketing: random bits          required there */
    agg_jobs jobs;         /* job pool                        none */
} agg_desc;

/* Zero it, and point weight and suspicion at n numbers each if you want them. */
typedef struct agg_report {
    double *weight;    /* share of each row in out; coordinate-wise rules: the average over
                          coordinates. They sum to 1, or less with clipping, which shortens rows or
                          keeps a part of the start. */
    double *suspicion; /* ||x_i - out|| / median_j ||x_j - out||: 1 is usual, large is odd;
                          dropped: infinity */
    size_t  dropped;   /* rows that were NULL or not finite */
    size_t  used;      /* rows with a weight above 0 (counted only if weight is given) */
    size_t  nodes;     /* MDA, SMEA: search nodes spent */
    double  diameter;  /* MDA: of the chosen set */
    double  gap;       /* GM: proven, (value - least value) / least value <= gap */
} agg_report;

typedef struct agg_attack_desc {
    size_t          n, f;     /* ALIE: all rows and adversaries    required without a strength */
    agg_attack_kind kind;
    double          strength; /* s                                 0 = the default of the kind */
    size_t          target;   /* mimic: which honest row           0 = the first */
    agg_rng         rng;      /* noise, Gaussian                   required there */
} agg_attack_desc;

AGG_API agg_desc agg_make_desc(agg_rule rule, size_t n, size_t dim, size_t f);

/* bytes; 0 = d is unusable, agg_aggregate() says why */
AGG_API size_t agg_scratch_size(const agg_desc *d);

/* rows: n pointers to dim numbers, read only; any may be NULL. out: dim numbers. report may be
   NULL. */
AGG_API agg_status agg_aggregate(const agg_desc *d, const agg_real *const *rows, agg_real *out,
                                 void *scratch, size_t scratch_size, agg_report *report);

/* texts, never NULL */
AGG_API const char *agg_status_text(agg_status s);
AGG_API const char *agg_rule_name(agg_rule rule);
AGG_API const char *agg_rule_cost(agg_rule rule); /* "n d", "n^2 d", ... */
AGG_API const char *agg_pre_name(agg_pre pre);
AGG_API const char *agg_attack_name(agg_attack_kind kind);

/* by the paper: linear speed-up in n while f = O(sqrt n) */
AGG_API int agg_rule_is_order_optimal(agg_rule rule);

/* most adversaries the rule survives among n */
AGG_API size_t agg_max_f(agg_rule rule, size_t n);

/* lambda of the table; +infinity if the rule is not resilient for this f; -1 if the table has no
   value for the rule */
AGG_API double agg_lambda(agg_rule rule, size_t n, size_t f, size_t dim);

/* trajectories per agent until J* - J <= sqrt(eps_bias)/(1-gamma) + eps, up to the problem's
   constant: eps^-2 log(1/eps) (1/n + lambda^2 log n); -1 if lambda is */
AGG_API double agg_sample_complexity(agg_rule rule, double eps, size_t n, size_t f, size_t dim);

/* the largest ||out - mean_G|| / diameter_G over all sets G of n-f rows, and that G as a bit mask
   (worst may be NULL). rows must be finite. For teaching and tests: it visits all C(n,f) sets.
   n <= 63. */
AGG_API agg_status agg_resilience(const agg_real *const *rows, size_t n, size_t dim, size_t f,
                                  const agg_real *out, double *ratio, uint64_t *worst);

/* out: dim numbers, may be own. own == NULL: the honest mean. honest may be NULL for kinds that
   look at own alone. */
AGG_API agg_status agg_attack(const agg_attack_desc *a, const agg_real *const *honest,
                              size_t honest_n, size_t dim, const agg_real *own, agg_real *out);
#ifdef __cplusplus
}
#endif
#endif /* AGGREGATORS_H */
/* clang-format on */

/* ---- stop here if you only want the API ------------------------------------------------------ */

/* ---- the core: what both implementations stand on, brought by whichever comes first ---------- */

#if defined(AGGREGATORS_IMPLEMENTATION) || defined(RESNHARPG_IMPLEMENTATION)
#ifndef AGGI_CORE
#define AGGI_CORE
/* Compiler, AVX2 twins, numbers, memory. resnharpg.h uses these aggi_ names as well; all are
   static, so that each of two files may have its own copy. */
#include <string.h> /* memcpy, memmove, memset */

/* clang-format off */

#if defined(__GNUC__) && !defined(__TINYC__)
  #define AGGI_GNU
#endif

/* AGGI_BEGIN_CODE .. AGGI_END_CODE stand around every function: no fma behind our back, which would
   make the bits depend on the machine, and loops become vector code at plain -O2 already. */
#if defined(__clang__)
  #define AGGI_BEGIN_CODE _Pragma("STDC FP_CONTRACT OFF")
  #define AGGI_END_CODE   _Pragma("STDC FP_CONTRACT DEFAULT")
#elif defined(AGGI_GNU)
  #if FLT_EVAL_METHOD == 1 /* s390x as ISO C: float sums in double, if one lets it */
    #define AGGI_PRECISION _Pragma("GCC optimize(\"excess-precision=fast\")")
  #else
    #define AGGI_PRECISION
  #endif
  #define AGGI_BEGIN_CODE                                                                          \
      _Pragma("GCC push_options")                                                                  \
      _Pragma("GCC optimize(\"fp-contract=off\", \"tree-vectorize\", \"vect-cost-model=dynamic\")")\
      AGGI_PRECISION
  #define AGGI_END_CODE _Pragma("GCC pop_options")
#else
  #define AGGI_BEGIN_CODE
  #define AGGI_END_CODE
#endif

#ifdef AGGI_GNU
  #define AGGI_INLINE        static inline __attribute__((always_inline, unused))
  #define AGGI_UNUSED        __attribute__((unused))
  #define AGGI_RESTRICT      __restrict__
  #define AGGI_VECTOR(bytes) __attribute__((vector_size(bytes)))
  #define AGGI_PREFETCH(p)   __builtin_prefetch(p)
#else
  #define AGGI_INLINE        static inline
  #define AGGI_UNUSED
  #define AGGI_RESTRICT
  #define AGGI_VECTOR(bytes) /* a "vector" of one number: the lanes stay, and so do the bits */
  #define AGGI_PREFETCH(p)   ((void)(p))
#endif

/* AVX2 twins. A kernel is a template macro KERNEL(suffix, attribute, vec): functions whose names
   end in suffix, with vectors of type vec. AGGI_TWINS(KERNEL, vec, wide) makes them for the
   instructions of the build, suffix _base, and, where AVX2 may be there at run time, once more with
   the wide type, suffix _avx2 (without fma, so with the same bits). AGGI_TWIN(avx2, name) is the
   one to call. The type changes because gcc keeps vectors wider than the target's in memory. */
#if defined(AGGI_GNU) && defined(__SSE2__)
  #define AGGI_X86
#endif
#if defined(_WIN32) && !defined(__clang__) && !defined(AGG_NO_DISPATCH)
  #define AGG_NO_DISPATCH /* gcc does not align the stack there as AVX needs it (its bug 54412) */
#endif
#define AGGI_NOTHING
#if defined(AGGI_X86) && !defined(__AVX2__) && !defined(AGG_NO_DISPATCH)
  #define AGGI_AVX2                     __attribute__((target("avx2")))
  #define AGGI_HAS_AVX2                 (__builtin_cpu_supports("avx2") != 0)
  #define AGGI_TWINS(KERNEL, vec, wide) KERNEL(_base, AGGI_NOTHING, vec)                           \
                                        KERNEL(_avx2, AGGI_AVX2, wide)
  #define AGGI_TWIN(avx2, name)         ((avx2) ? name##_avx2 : name##_base)
#else
  #define AGGI_HAS_AVX2                 0
  #define AGGI_TWINS(KERNEL, vec, wide) KERNEL(_base, AGGI_NOTHING, vec)
  #define AGGI_TWIN(avx2, name)         ((void)(avx2), name##_base)
#endif
#if defined(__AVX512F__)
  typedef agg_real aggi_vec AGGI_VECTOR(64);
#elif defined(__AVX__)
  typedef agg_real aggi_vec AGGI_VECTOR(32);
#else
  typedef agg_real aggi_vec AGGI_VECTOR(16);
#endif
typedef agg_real aggi_wide AGGI_VECTOR(32);
#define AGGI_LOAD(v, from)        memcpy(&(v), (from), sizeof(v))
#define AGGI_STORE(to, v)         memcpy((to), &(v), sizeof(v))

/* clang-format on */

AGGI_BEGIN_CODE

/* Numbers: no libm, so the same bits everywhere. */
AGGI_INLINE uint64_t aggi_bits(double x) {
    uint64_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

AGGI_INLINE double aggi_from_bits(uint64_t b) {
    double x;
    memcpy(&x, &b, sizeof x);
    return x;
}

#define AGGI_INF  0x7ff0000000000000u /* bits of +Inf, of a NaN, of the sign */
#define AGGI_NAN  0x7ff8000000000000u
#define AGGI_SIGN 0x8000000000000000u
#ifdef AGG_DOUBLE
#define AGGI_REAL_MAX DBL_MAX
#define AGGI_REAL_ULP (DBL_EPSILON / 2)
#else
#define AGGI_REAL_MAX ((double)FLT_MAX)
#define AGGI_REAL_ULP ((double)FLT_EPSILON / 2)
#endif

AGGI_INLINE int aggi_finite(double x) { return x - x == 0; }

/* Masks instead of branches, so that a loop becomes vector code. All ones if the top bit is set; if
   a > b, for a and b without the top bit; m ? a : b, bit by bit. */
AGGI_INLINE uint64_t aggi_top(uint64_t a) { return 0u - (a >> 63); }

AGGI_INLINE uint64_t aggi_above(uint64_t a, uint64_t b) { return aggi_top(b - a); }

AGGI_INLINE double aggi_pick(uint64_t m, double a, double b) {
    return aggi_from_bits((aggi_bits(a) & m) | (aggi_bits(b) & ~m));
}

/* log x, 0.83 ulp. log(+-0) = -Inf, negative: NaN, +Inf: +Inf; denormals are made normal first.
   x = 2^k (1 + f), sqrt(1/2) <= 1 + f < sqrt(2). With s = f / (2 + f): log(1 + f) = 2 atanh s =
   2 s + s R, R = s^2 L(s^2), and 2 s = f - (f^2/2 - s f^2/2), where f is exact. k becomes a number
   by being written below the leading bit of 2^52. */
AGGI_INLINE double aggi_log_edge(double x, double y) {
    const uint64_t b = aggi_bits(x);
    y = aggi_pick(aggi_above(b, AGGI_INF - 1u), x, y);
    y = aggi_pick(aggi_top(b), aggi_from_bits(AGGI_NAN), y);
    return aggi_pick(aggi_top((b & ~AGGI_SIGN) - 1u), aggi_from_bits(AGGI_INF | AGGI_SIGN), y);
}

AGGI_INLINE double aggi_log(double x) {
    const uint64_t tiny = aggi_top(aggi_bits(x) - 0x0010000000000000u);
    const uint64_t b = aggi_bits(aggi_pick(tiny, x * 18014398509481984.0, x));
    const uint64_t t = b + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
    const double k = (aggi_from_bits((t >> 52) | 0x4330000000000000u) - 4503599627371519.0) -
                     aggi_pick(tiny, 54.0, 0.0);
    const double f = aggi_from_bits((t & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu) - 1.0;
    const double s = f / (2.0 + f), z = s * s, h = 0.5 * f * f;
    const double P = 0.18182889125261723 + z * (0.15331721600556042 + z * 0.14616449685043406);
    const double L = 0.28571428625975487 + z * (0.22222211134795081 + z * P);
    const double R = z * (0.66666666666666696 + z * (0.39999999999899505 + z * L));
    const double low = k * 5.4979230187083712e-14;
    return aggi_log_edge(x, k * 0.69314718055989033 + (f - (h - (s * (h + R) + low))));
}

/* m - s^2 exactly, for s in [1, 2] within an ulp or two of sqrt(m): s in two halves of 26 bits. */
AGGI_INLINE double aggi_sqrt_residual(double m, double s) {
    const double hi = (s + 201326592.0) - 201326592.0, lo = s - hi;
    return ((m - hi * hi) - 2.0 * hi * lo) - lo * lo;
}

/* sqrt(x) = 2^h sqrt(m), 1 <= m < 4, by Newton for 1/sqrt(m) from a guess in the bits, one step of
   Heron, and then the exact test: s is the nearest number if |sqrt(m) - s| < u/2, u = 2^-52, that
   is -s u < m - s^2 <= s u (all are multiples of u^2, so the u^2/4 of the square does not matter).
   Correctly rounded; negative: NaN, -0: -0. */
AGGI_INLINE double aggi_sqrt_soft(double x) {
    const uint64_t tiny = aggi_top(aggi_bits(x) - 0x0010000000000000u);
    const uint64_t b = aggi_bits(aggi_pick(tiny, x * 18014398509481984.0, x));
    const uint64_t e = (b >> 52) & 0x7ffu, odd = ~e & 1u;
    const uint64_t mb = (b & 0x000fffffffffffffu) | ((1023u + odd) << 52);
    const uint64_t h = ((e - odd + 1023u) >> 1) - (27u & tiny);
    const double m = aggi_from_bits(mb), half = 0.5 * m, u = 2.2204460492503131e-16;
    double y = aggi_from_bits(0x5fe6eb50c7b537a9u - (mb >> 1)), s, r;
    y = y * (1.5 - half * y * y);
    y = y * (1.5 - half * y * y);
    y = y * (1.5 - half * y * y);
    y = y * (1.5 - half * y * y);
    s = m * y;
    s = s + 0.5 * y * aggi_sqrt_residual(m, s);
    r = aggi_sqrt_residual(m, s);
    s = s + aggi_pick(aggi_top(aggi_bits(s * u - r)), u, 0.0) -
        aggi_pick(aggi_top(aggi_bits((s * u + r) - 0.5 * u * u)), u, 0.0);
    y = aggi_pick(aggi_above(aggi_bits(x), AGGI_INF - 1u), x, s * aggi_from_bits(h << 52));
    y = aggi_pick(aggi_top(aggi_bits(x)), aggi_from_bits(AGGI_NAN), y);
    return aggi_pick(aggi_top((aggi_bits(x) & ~AGGI_SIGN) - 1u), x, y);
}

#ifdef AGGI_X86 /* the instruction rounds correctly too: same bits, sooner; sqrt() may call libm */
AGGI_INLINE double aggi_sqrt(double x) {
    typedef double pair AGGI_VECTOR(16);
    const pair v = {x, 0};
    return __builtin_ia32_sqrtsd(v)[0];
}
#else
AGGI_INLINE double aggi_sqrt(double x) { return aggi_sqrt_soft(x); }
#endif

/* 53 random bits, 0 .. 2^53 - 1; times AGGI_ULP53 a number in [0,1). */
#define AGGI_ULP53 (1.0 / 9007199254740992.0)

AGGI_INLINE double aggi_draw53(const agg_rng *rng) { return (double)(rng->next(rng->self) >> 11); }

/* Is every number of x finite? 0*x is NaN for NaN and Inf, and NaN survives sums. */
AGGI_UNUSED static int aggi_all_finite(const agg_real *x, size_t n) {
    agg_real lane[64 / sizeof(agg_real)] = {0}, sum = 0;
    const size_t lanes = sizeof lane / sizeof *lane;
    size_t i, l;
    for (i = 0; i + lanes <= n; i += lanes)
        for (l = 0; l < lanes; l++) lane[l] += 0 * x[i + l];
    for (; i < n; i++) sum += 0 * x[i];
    for (l = 0; l < lanes; l++) sum += lane[l];
    return sum == 0;
}

/* Memory is laid out twice by the same code: with base == NULL to count, then for real. Every piece
   starts a cache line. */
#define AGGI_ALIGN ((size_t)64)

typedef struct aggi_arena {
    unsigned char *base;
    size_t used, size;
    int bad; /* a size overflowed */
} aggi_arena;

AGGI_UNUSED static aggi_arena aggi_arena_make(void *memory, size_t size) {
    const size_t past = memory ? (size_t)((uintptr_t)memory % AGGI_ALIGN) : 0;
    const size_t skip = past ? AGGI_ALIGN - past : 0;
    aggi_arena a;
    a.base = memory && size >= skip ? (unsigned char *)memory + skip : NULL;
    a.size = size >= skip ? size - skip : 0;
    a.used = 0;
    a.bad = 0;
    return a;
}

/* Bytes that hold what was counted, wherever they begin; 0: it does not fit a size_t. */
AGGI_UNUSED static size_t aggi_arena_size(const aggi_arena *a) {
    return a->bad ? 0 : a->used + AGGI_ALIGN;
}

AGGI_UNUSED static void *aggi_take(aggi_arena *a, size_t count, size_t each) {
    const size_t most = (size_t)-1 / 4, at = (a->used + AGGI_ALIGN - 1) / AGGI_ALIGN * AGGI_ALIGN;
    if (a->bad || (each && count > most / each) || at > most - count * each) {
        a->bad = 1;
        return NULL;
    }
    a->used = at + count * each;
    return a->base && a->used <= a->size ? a->base + at : NULL;
}

AGGI_UNUSED static agg_real *aggi_take_real(aggi_arena *a, size_t count) {
    return (agg_real *)aggi_take(a, count, sizeof(agg_real));
}

AGGI_UNUSED static double *aggi_take_f64(aggi_arena *a, size_t count) {
    return (double *)aggi_take(a, count, sizeof(double));
}

AGGI_UNUSED static size_t *aggi_take_size(aggi_arena *a, size_t count) {
    return (size_t *)aggi_take(a, count, sizeof(size_t));
}

AGGI_INLINE int aggi_product_fits(size_t a, size_t b) { return !a || b <= (size_t)-1 / 64 / a; }

AGGI_END_CODE
#endif /* AGGI_CORE */
#endif

#if defined(AGGREGATORS_IMPLEMENTATION) && !defined(AGGREGATORS_IMPLEMENTED)
#define AGGREGATORS_IMPLEMENTED
/* How a call runs; numbers are sections.
   agg_aggregate() checks desc against the tables of rules and pre-aggregations (13), lays out
   scratch by what their rows say they need (3, 14) and collects the rows that are not NULL. Then it
   makes an attempt (14): pre-aggregations make new rows of the rows in play (12), and the function
   of the rule (7 to 11) decides, from distances (4) or sorted columns (6), which rows count with
   which weight, or writes the result itself. Weights become the result by a weighted sum (5).
   Kernels (4 to 6, and 9) run as jobs, one for each slice of the coordinates (3), their inner loops
   as AVX2 twins (the core, above). If a sum shows that some row is not finite, the rows are scanned
   and a second attempt is made without the bad ones (14, aggi_aggregate). At last the result is
   copied out and the report filled in. What a host can ask is in 15, attacks are in 16.
   aggi_ names are private. */

/* ---- 1 configuration ------------------------------------------------------------------------- */

/* clang-format off */

#ifndef AGG_ASSERT
  #include <assert.h>
  #define AGG_ASSERT(x) assert(x) /* our own bugs only, never bad input */
#endif
#if defined(__clang__) || (defined(AGGI_GNU) && __GNUC__ >= 9)
  #define AGGI_CONVERT(v, type) __builtin_convertvector(v, type)
#endif
#define AGGI_LANES  ((size_t)8)    /* accumulators of a sum: part of its definition */
#define AGGI_BLOCK  ((size_t)256)  /* coordinates summed in agg_real, before it goes on in double */
#define AGGI_CHUNK  ((size_t)2048) /* coordinates that stay in the cache for all pairs */
#define AGGI_NARROW ((size_t)512)  /* the same in the nearest cache, for few rows */
#define AGGI_GRAM   ((size_t)16)   /* rows from which on distances come from dot products */
#define AGGI_PACKED (2048 / sizeof(agg_real)) /* coordinates of dot products, summed in agg_real */
#define AGGI_COLS   ((size_t)64)   /* columns sorted together */
#define AGGI_SLICES 16             /* parts of the coordinates, at most: jobs of a kernel */
#define AGGI_FAR    16777216.0     /* GM: rows beyond this many radii are pulled in to it */
#ifdef AGG_DOUBLE
  #define AGGI_TINY 1e-280         /* a sum of squares outside these two may have lost terms */
  #define AGGI_HUGE 1e280
  #define AGGI_HUGE_SEEN AGGI_HUGE /* a part of a sum beyond this foretells it */
#else
  #define AGGI_TINY 1e-24
  #define AGGI_HUGE 1e300
  #define AGGI_HUGE_SEEN 1e33
#endif

/* clang-format on */

AGGI_BEGIN_CODE

/* ---- 2 numbers and order --------------------------------------------------------------------- */

static double aggi_infinity(void) { return aggi_from_bits(AGGI_INF); }

static double aggi_abs(double v) { return v < 0 ? -v : v; }

static double aggi_min(double a, double b) { return a < b ? a : b; }

static double aggi_max(double a, double b) { return a > b ? a : b; }

AGGI_INLINE double aggi_squared(double v) { return v * v; }

/* 2^e, -1022 <= e <= 1023 */
static double aggi_pow2(int e) { return aggi_from_bits((uint64_t)(e + 1023) << 52); }

/* v 2^e, in two steps, as 2^e may be out of range; below 2^-2000 it does not matter how much */
static double aggi_scaled(double v, int e) {
    if (e < -2000) e = -2000;
    return v * aggi_pow2(e / 2) * aggi_pow2(e - e / 2);
}

/* floor(log2 |v|), v normal */
static int aggi_exponent(double v) { return (int)(aggi_bits(v) >> 52 & 2047) - 1023; }

/* a rounding error below 0 counts as 0 */
static double aggi_root0(double v) { return v > 0 ? aggi_sqrt(v) : 0; }

static double aggi_clamp(double v) { return aggi_max(-AGGI_REAL_MAX, aggi_min(v, AGGI_REAL_MAX)); }

/* Sums over coordinates run in lanes: lane[k % lanes] += term for k = 0 .. width - 1, term being an
   expression in k. The inner loop has a fixed length, so that it becomes vector code. */
#define AGGI_ADD_IN_LANES(lane, lanes, width, k, term)                                             \
    do {                                                                                           \
        size_t from_, l_;                                                                          \
        for (from_ = 0; from_ + (lanes) <= (width); from_ += (lanes)) {                            \
            for (l_ = 0; l_ < (lanes); l_++) {                                                     \
                const size_t k = from_ + l_;                                                       \
                (lane)[l_] += (term);                                                              \
            }                                                                                      \
        }                                                                                          \
        for (l_ = from_; l_ < (width); l_++) {                                                     \
            const size_t k = l_;                                                                   \
            (lane)[k - from_] += (term);                                                           \
        }                                                                                          \
    } while (0)

/* The twin for such a sum; the plain one where there is not one full set of lanes: gcc forgets
   vzeroupper on the way around the vector loop, and SSE code after that runs at half its speed. */
#define AGGI_TWIN_OF_LANES(avx2, width, name) AGGI_TWIN((avx2) && (width) >= 8, name)

/* the end of such a sum: the lanes in a fixed tree */
AGGI_INLINE double aggi_sum8(const double *lane) {
    return ((lane[0] + lane[1]) + (lane[2] + lane[3])) +
           ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

static double aggi_sum(const double *v, size_t n) {
    double sum = 0;
    size_t i;
    for (i = 0; i < n; i++) sum += v[i];
    return sum;
}

/* Lengths are compared as roots: sqrt(||a - b||) is finite and not 0 for any two different rows,
   from the smallest denormal to the largest double, where ||a - b|| may overflow and its square may
   do either. aggi_ratio() goes back. */
static double aggi_ratio(double root_a, double root_b) {
    return root_a / root_b * (root_a / root_b);
}

/* an even power of two about root^2, within 2^+-1000; root > 0 */
static double aggi_even_power(double root) {
    const int e = 2 * aggi_exponent(root);
    return aggi_pow2(e > 1000 ? 1000 : e < -1000 ? -1000 : e);
}

typedef struct aggi_item {
    double key;
    size_t index;
} aggi_item;

/* Stable merge sort by key: ties stay in index order. v has room for 2 n: scratch behind the n. */
static void aggi_sort(aggi_item *v, size_t n) {
    aggi_item *tmp = v + n;
    size_t width, at, i, j, k;
    for (width = 1; width < n; width *= 2) {
        for (at = 0; at + width < n; at += 2 * width) {
            const size_t mid = at + width, end = n - at < 2 * width ? n : at + 2 * width;
            if (v[mid - 1].key <= v[mid].key) continue;
            memcpy(tmp, v + at, width * sizeof *v);
            for (i = 0, j = mid, k = at; i < width; k++)
                v[k] = j < end && v[j].key < tmp[i].key ? v[j++] : tmp[i++];
        }
    }
}

/* item = the n keys and their indices in ascending order; index `first` goes to the front whatever
   its key (n: there is none), keys must be >= 0 then. */
static void aggi_rank(aggi_item *item, const double *key, size_t n, size_t first) {
    size_t i;
    for (i = 0; i < n; i++) {
        item[i].key = key[i];
        item[i].index = i;
    }
    if (first < n) item[first].key = -1;
    aggi_sort(item, n);
    if (first < n) item[0].key = key[first];
}

/* The median of lengths whose roots are sorted, as a root: for even n, sqrt((a^2 + b^2) / 2). */
static double aggi_median_root(const aggi_item *sorted, size_t n) {
    const double a = sorted[(n - 1) / 2].key, b = sorted[n / 2].key;
    return a < b ? b * aggi_root0(0.5 + 0.5 * (a / b) * (a / b)) : b;
}

/* Sets of rows: one bit each, 64 to a word. */
#define AGGI_WORDS(n) (((n) + 63) / 64)

AGGI_INLINE int aggi_has(const uint64_t *set, size_t i) { return (int)(set[i / 64] >> i % 64 & 1); }

AGGI_INLINE void aggi_insert(uint64_t *set, size_t i) { set[i / 64] |= (uint64_t)1 << i % 64; }

AGGI_INLINE void aggi_remove(uint64_t *set, size_t i) { set[i / 64] &= ~((uint64_t)1 << i % 64); }

/* number of ones */
AGGI_INLINE size_t aggi_popcount(uint64_t u) {
    u -= u >> 1 & 0x5555555555555555u;
    u = (u & 0x3333333333333333u) + (u >> 2 & 0x3333333333333333u);
    return (size_t)(((u + (u >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u >> 56);
}

/* index of the lowest one; u != 0 */
#ifdef AGGI_GNU
AGGI_INLINE size_t aggi_lowest(uint64_t u) { return (size_t)__builtin_ctzll(u); }
#else
AGGI_INLINE size_t aggi_lowest(uint64_t u) { return aggi_popcount((u & (~u + 1)) - 1); }
#endif

/* ---- 3 the work of a call -------------------------------------------------------------------- */

/* What a kernel or rule returns when it met a sum that is not finite although nobody has looked for
   NaN and Inf in the rows yet: see aggi_aggregate(). */
#define AGGI_NOT_FINITE (-1)

/* sum_i weight_i row_i / total */
typedef struct aggi_blend {
    const agg_real *const *row;
    const double *weight;
    size_t n;
    double total;
} aggi_blend;

/* Distances of all pairs of rows in play. */
typedef struct aggi_pairs {
    double *entry;       /* n x n: squared distances / unit^4, or roots of distances */
    int wide;            /* a squared distance does not fit a double, so there is a unit ... */
    int roots;           /* ... or, if they are too far apart for one, entry has roots */
    double unit;         /* a power of two: what roots of the entries are in; 1 unless wide */
    unsigned char *mark; /* n x n: how a pair was summed: see aggi_pair_doubt() */
    double *score;       /* n: Krum's */
    /* many rows: dot products of rows as seen from one of them */
    size_t center;
    int *size;      /* n: row i is taken 2^-size_i times as large, as seen from there */
    agg_real *pack; /* slices x n in threes x AGGI_PACKED: those rows, a block of coordinates */
} aggi_pairs;

static size_t aggi_threes(size_t n) { return (n + 2) / 3; }

/* dot products of all rows, each of threes: see aggi_gram_at() */
static size_t aggi_gram_sums(size_t n) { return 9 * aggi_threes(n) * (aggi_threes(n) + 1) / 2; }

static int aggi_has_gram(size_t n, size_t dim) { return n >= AGGI_GRAM && dim >= 64; }

static void aggi_pairs_layout(aggi_pairs *p, aggi_arena *a, const agg_desc *d, size_t slices) {
    const size_t n = d->n;
    p->entry = aggi_take_f64(a, n * n);
    p->mark = (unsigned char *)aggi_take(a, n * n, 1);
    p->score = aggi_take_f64(a, n);
    if (!aggi_has_gram(n, d->dim)) return;
    p->size = (int *)aggi_take(a, n, sizeof *p->size);
    p->pack = (agg_real *)aggi_take(a, slices * 3 * aggi_threes(n), AGGI_PACKED * sizeof *p->pack);
}

#define AGGI_LESSER  1u
#define AGGI_GREATER 2u

/* A comparison of the places low and high of a column; need: what is read of its result. */
typedef struct aggi_compare {
    uint32_t low, high, need;
} aggi_compare;

/* Columns being sorted, each slice with its own memory. */
typedef struct aggi_columns {
    size_t n;              /* most rows */
    agg_real *block;       /* slices x n x AGGI_COLS */
    uint64_t *inside;      /* slices x n: in how many columns a row was inside the window */
    double *key;           /* slices x n: one column the slow way */
    aggi_item *item;       /* slices x 2 n: its order */
    aggi_compare *network; /* comparisons that sort a column */
    uint32_t *read;        /* n: see aggi_prune() */
} aggi_columns;

/* comparisons of Batcher's network, at most: n t (t+1)/4 with t = ceil(log2 n) */
static size_t aggi_network_bound(size_t n) {
    size_t t = 0;
    while ((size_t)1 << t < n) t++;
    return n * t * (t + 1) / 4 + 1;
}

static void aggi_columns_layout(aggi_columns *g, aggi_arena *a, size_t n, size_t slices) {
    g->n = n;
    g->block = (agg_real *)aggi_take(a, slices * n, AGGI_COLS * sizeof *g->block);
    g->inside = (uint64_t *)aggi_take(a, slices * n, sizeof *g->inside);
    g->key = aggi_take_f64(a, slices * n);
    g->item = (aggi_item *)aggi_take(a, slices * n, 2 * sizeof *g->item);
    g->network = (aggi_compare *)aggi_take(a, aggi_network_bound(n), sizeof *g->network);
    g->read = (uint32_t *)aggi_take(a, n, sizeof *g->read);
}

/* MDA's search for a vertex cover: f rows that touch all edges of a graph. Sets of rows are bits,
   `words` words each. */
typedef struct aggi_cover {
    size_t n, words, f;
    size_t nodes, budget;
    uint64_t *edge;      /* n sets: the rows joined with row i */
    size_t *full_degree; /* n: how many those are */
    /* where the search is */
    uint64_t *open;  /* set: rows not decided yet */
    uint64_t *cover; /* set: rows in the cover */
    size_t left;     /* how many more may go into it */
    size_t edges;    /* between open rows */
    size_t *degree;  /* n: open neighbours of an open row, else 0 */
    uint64_t *stack; /* (f + 2) x (2 words + 1): the branches taken, see aggi_push() */
    /* scratch of the bounds */
    size_t *tally;    /* n + 1: open rows of each degree */
    uint64_t *rest;   /* set: rows in no clique yet */
    uint64_t *common; /* set: rows joined with all of a clique */
    /* what MDA makes of it */
    aggi_item *radius; /* n^2: diameters to try */
    uint64_t *outside; /* set: rows that the best set found leaves out */
    uint64_t *taken;   /* set: rows known to be in the first such set */
    size_t *chosen;    /* n: the rows of a set as numbers */
} aggi_cover;

static uint64_t *aggi_take_set(aggi_arena *a, size_t words) {
    return (uint64_t *)aggi_take(a, words, sizeof(uint64_t));
}

static void aggi_cover_layout(aggi_cover *g, aggi_arena *a, size_t n, size_t f) {
    const size_t words = AGGI_WORDS(n);
    g->edge = aggi_take_set(a, n * words);
    g->full_degree = aggi_take_size(a, n);
    g->open = aggi_take_set(a, words);
    g->cover = aggi_take_set(a, words);
    g->degree = aggi_take_size(a, n);
    g->stack = aggi_take_set(a, (f + 2) * (2 * words + 1));
    g->tally = aggi_take_size(a, n + 1);
    g->rest = aggi_take_set(a, words);
    g->common = aggi_take_set(a, words);
    g->radius = (aggi_item *)aggi_take(a, n * n, sizeof *g->radius);
    g->outside = aggi_take_set(a, words);
    g->taken = aggi_take_set(a, words);
    g->chosen = aggi_take_size(a, n);
}

/* GM: a point z = sum_i w_i x_i and what belongs to it. Distances are in units of the radius of the
   smallest ball of a majority. */
typedef struct aggi_gm {
    size_t n;
    double gap;      /* to be proven, relative */
    double unit;     /* root of that radius */
    double *square;  /* n x n: squared distances of the rows */
    double *cosine;  /* n x n: of the angles between the rows as seen from z */
    double *w, *d;   /* n: weights of z, distances of the rows from it */
    double *step;    /* n: weights of a step from z */
    double *try_w;   /* n: the point tried */
    double *try_d;   /* n */
    double *cg;      /* 4 n: vectors of the conjugate gradients */
    double *pull;    /* n: how far a row is pulled in, 1: not at all */
    double *reach;   /* n: its distance from the centre after that */
    double *scale;   /* n: a unit for row i, a power of two, so that its squares fit a double */
    double *inverse; /* n: 1/distance of row i in that unit, 0 for rows close to z */
} aggi_gm;

static void aggi_gm_layout(aggi_gm *g, aggi_arena *a, size_t n) {
    g->square = aggi_take_f64(a, n * n);
    g->cosine = aggi_take_f64(a, n * n);
    g->w = aggi_take_f64(a, n);
    g->d = aggi_take_f64(a, n);
    g->step = aggi_take_f64(a, n);
    g->try_w = aggi_take_f64(a, n);
    g->try_d = aggi_take_f64(a, n);
    g->cg = aggi_take_f64(a, 4 * n);
    g->pull = aggi_take_f64(a, n);
    g->reach = aggi_take_f64(a, n);
    g->scale = aggi_take_f64(a, n);
    g->inverse = aggi_take_f64(a, n);
}

/* CAF and SMEA: spectra of scatter matrices. */
typedef struct aggi_spectrum {
    double *gram;        /* n x n: dot products of rows around their mean */
    double *scaled;      /* n x n: CAF: the same times the roots of the weights */
    double *power;       /* n x n: scratch of aggi_top_eigen() */
    double *square;      /* n x n */
    double *mean_square; /* n: of the distances of a row to the others */
    double *weight;      /* n: of the rows in the matrix */
    double *vector;      /* n: top eigenvector */
    double *off;         /* n: CAF: how far a row is off along it, squared */
    size_t *subset;      /* n: rows in the matrix */
    size_t *best;        /* n: SMEA: the best subset so far */
} aggi_spectrum;

static void aggi_spectrum_layout(aggi_spectrum *g, aggi_arena *a, size_t n) {
    g->gram = aggi_take_f64(a, n * n);
    g->scaled = aggi_take_f64(a, n * n);
    g->power = aggi_take_f64(a, n * n);
    g->square = aggi_take_f64(a, n * n);
    g->mean_square = aggi_take_f64(a, n);
    g->weight = aggi_take_f64(a, n);
    g->vector = aggi_take_f64(a, n);
    g->off = aggi_take_f64(a, n);
    g->subset = aggi_take_size(a, n);
    g->best = aggi_take_size(a, n);
}

static const agg_real **aggi_take_rows(aggi_arena *a, size_t n) {
    return (const agg_real **)aggi_take(a, n, sizeof(const agg_real *));
}

/* Rows that a kernel is to work on: those Bulyan picked; CClip's centre and all others. */
typedef struct aggi_picked {
    const agg_real **row; /* n + 1 */
    double *share;        /* n + 1 */
    int *taken;           /* n: Bulyan: row i was picked */
} aggi_picked;

static void aggi_picked_layout(aggi_picked *p, aggi_arena *a, size_t n) {
    p->row = aggi_take_rows(a, n + 1);
    p->share = aggi_take_f64(a, n + 1);
    p->taken = (int *)aggi_take(a, n, sizeof *p->taken);
}

/* A pre-aggregation: new row j = sum_i weight[j * n_in + i] row_i / total[j]. */
typedef struct aggi_mix {
    size_t n_in, n_out;
    double *weight, *total;
    agg_real *row; /* n_out x dim */
} aggi_mix;

static void aggi_mix_layout(aggi_mix *m, aggi_arena *a, size_t n, size_t dim) {
    m->weight = aggi_take_f64(a, n * n);
    m->total = aggi_take_f64(a, n);
    m->row = (agg_real *)aggi_take(a, dim, n * sizeof *m->row);
}

/* The caller's rows that are there: not NULL and, once they were scanned, finite. */
typedef struct aggi_senders {
    const agg_real **row;
    size_t *id; /* their places in the caller's array */
    size_t n;
} aggi_senders;

/* A call: what it was asked, the rows in play, the result, and the memory of each family. */
typedef struct aggi_call {
    const agg_desc *desc;
    agg_report report;
    size_t dim, slices; /* numbers of a row, and the parts they are cut into, one for each job */
    int avx2;
    int scanned; /* every row was looked at for NaN and Inf: see aggi_aggregate() */
    aggi_senders sent;
    const agg_real **x; /* n: the rows in play: those sent, or what pre-aggregations made of them */
    size_t n, f;        /* how many, and how many adversaries may be among them */
    size_t pivot;       /* MoNNA's row among them; n: it is not there */
    double *weight;     /* n: result of a rule that mixes rows: sum_i weight_i x_i / total */
    double total;
    agg_real *out;   /* dim: the result until it is sure to be one */
    double *key;     /* n: what rows are ranked by */
    aggi_item *item; /* 2 n: the ranking */
    double *part;    /* slices x the sums of a kernel */
    aggi_pairs pairs;
    aggi_columns columns;
    aggi_cover cover;
    aggi_gm gm;
    aggi_spectrum spectrum;
    aggi_picked picked;
    aggi_mix mix[2];
} aggi_call;

/* what every call needs; sums: the most that a kernel makes */
static void aggi_call_layout(aggi_call *c, aggi_arena *a, size_t sums) {
    const size_t n = c->desc->n;
    c->sent.row = aggi_take_rows(a, n);
    c->sent.id = aggi_take_size(a, n);
    c->x = aggi_take_rows(a, n);
    c->weight = aggi_take_f64(a, n);
    c->out = aggi_take_real(a, c->dim);
    c->key = aggi_take_f64(a, n);
    c->item = (aggi_item *)aggi_take(a, n, 2 * sizeof *c->item);
    c->part = aggi_take_f64(a, c->slices * sums);
}

/* options and their defaults */
static size_t aggi_or(size_t value, size_t fallback) { return value ? value : fallback; }

static size_t aggi_bucket(const agg_desc *d) { return aggi_or(d->bucket, 2); }

/* a node of MDA's search costs up to n ceil(n/64) word operations */
static size_t aggi_budget(const agg_desc *d) {
    const size_t node = d->n * ((d->n - 1) / 64 + 1), nodes = ((size_t)1 << 26) / node;
    return d->budget ? d->budget : nodes < 1000 ? 1000 : nodes > 100000 ? 100000 : nodes;
}

static double aggi_gap(const agg_desc *d) { return d->gap > 0 ? d->gap < 1 ? d->gap : 1 : 1e-6; }

/* less is lost in rounding */
static double aggi_gap_sought(const agg_desc *d) { return aggi_max(aggi_gap(d), 1e-14); }

/* job(arg, s) for every slice s of the coordinates */
static void aggi_run(const aggi_call *c, agg_job *job, void *arg) {
    size_t s;
    if (c->desc->jobs.run && c->slices > 1) {
        c->desc->jobs.run(c->desc->jobs.self, c->slices, job, arg);
        return;
    }
    for (s = 0; s < c->slices; s++) job(arg, s);
}

/* the first status of a slice that is not AGG_OK */
static int aggi_any(const aggi_call *c, const int *status) {
    size_t s;
    for (s = 0; s < c->slices; s++)
        if (status[s]) return status[s];
    return AGG_OK;
}

/* The same for a job that leaves `count` sums at c->part + s * count: adds the slices up, into
   c->part[0 .. count-1], in order ... */
static void aggi_add_slices(const aggi_call *c, agg_job *job, void *arg, size_t count) {
    size_t s, i;
    aggi_run(c, job, arg);
    for (s = 1; s < c->slices; s++)
        for (i = 0; i < count; i++) c->part[i] += c->part[s * count + i];
}

/* ... and looks at the sums. */
static int aggi_sum_slices(const aggi_call *c, agg_job *job, void *arg, size_t count) {
    size_t i;
    aggi_add_slices(c, job, arg, count);
    for (i = 0; i < count && !c->scanned; i++)
        if (!aggi_finite(c->part[i])) return AGGI_NOT_FINITE;
    return AGG_OK;
}

/* first coordinate of slice s: whole chunks, the last slice takes the rest */
static size_t aggi_slice_begin(const aggi_call *c, size_t s) {
    const size_t chunks = c->dim / AGGI_CHUNK, each = chunks / c->slices, more = chunks % c->slices;
    return s == c->slices ? c->dim : (s * each + (s < more ? s : more)) * AGGI_CHUNK;
}

static size_t aggi_width(size_t at, size_t end, size_t most) {
    return end - at < most ? end - at : most;
}

/* ---- 4 distances ----------------------------------------------------------------------------- */

/* ||a - b||^2 of all pairs is a sum over coordinates, 8 lanes of them: lane l has the coordinates
   that are l modulo 8, AGGI_BLOCK of them summed in `real`, then on in double. Where squares of the
   differences could leave the range of `real`, the pair is done again zoomed: rows shrunk before
   they are subtracted, or differences grown before they are squared, by a power of two. */
typedef enum aggi_zoom_kind { AGGI_FAIR, AGGI_SHRUNK, AGGI_GROWN } aggi_zoom_kind;

typedef struct aggi_zoom {
    double shrink, grow; /* factors of rows and of differences */
    int exponent;        /* true sum = 2^exponent x the sum so made */
} aggi_zoom;

/* Shrunk: the largest difference gets a square of 2^98 (2^850), one that made a sum of squares
   larger than AGGI_HUGE still one of 2^-36 (2^-310). Grown: the least difference there is gets a
   square of 2^-98 (2^-948), one whose square is below AGGI_TINY at most 2^120 (2^270). */
static aggi_zoom aggi_zoom_make(unsigned kind) {
    const int shrink = sizeof(agg_real) > 4 ? 600 : 80, grow = sizeof(agg_real) > 4 ? 600 : 100;
    aggi_zoom z;
    z.shrink = kind == AGGI_SHRUNK ? aggi_pow2(-shrink) : 1;
    z.grow = kind == AGGI_GROWN ? aggi_pow2(grow) : 1;
    z.exponent = kind == AGGI_SHRUNK ? 2 * shrink : kind == AGGI_GROWN ? -2 * grow : 0;
    return z;
}

/* How is a sum of squares to be made that came out as `sum`? Squares of floats are safe in
   double. */
static unsigned aggi_zoom_for(double sum, int exact) {
    if (!aggi_finite(sum)) return AGGI_SHRUNK;
    if (exact && sizeof(agg_real) < sizeof sum) return AGGI_FAIR;
    return sum < AGGI_TINY ? AGGI_GROWN : sum > AGGI_HUGE ? AGGI_SHRUNK : AGGI_FAIR;
}

/* One row and up to AGGI_STAR others whose distances from it are summed together. */
#define AGGI_STAR 6

typedef struct aggi_star {
    const agg_real *from, *to[AGGI_STAR];
    size_t m;
    aggi_zoom zoom;
} aggi_star;

/* sum[8 p + l] += lane l of the pair (from, to[p]) over coordinates [at, at + width), width being a
   multiple of 8. `from` stays in a register; the width of vec changes the speed, not the bits. */

/* clang-format off */

#define AGGI_EACH1(X, a, b, c) X(0, a, b, c)
#define AGGI_EACH2(X, a, b, c) AGGI_EACH1(X, a, b, c) X(1, a, b, c)
#define AGGI_EACH3(X, a, b, c) AGGI_EACH2(X, a, b, c) X(2, a, b, c)
#define AGGI_EACH4(X, a, b, c) AGGI_EACH3(X, a, b, c) X(3, a, b, c)
#define AGGI_EACH5(X, a, b, c) AGGI_EACH4(X, a, b, c) X(4, a, b, c)
#define AGGI_EACH6(X, a, b, c) AGGI_EACH5(X, a, b, c) X(5, a, b, c)

#define AGGI_PLAIN_GAP(u, w)  ((u) - (w))
#define AGGI_ZOOMED_GAP(u, w) (((u) * shrink - (w) * shrink) * grow)

#define AGGI_STAR_ZERO(p, vec, load, gap)  vec s##p = {0};
#define AGGI_STAR_STEP(p, vec, load, gap)  load(vec, w, t->to[p] + k); w = gap(u, w); s##p += w * w;
#define AGGI_STAR_STORE(p, vec, load, gap) AGGI_STORE(lane + p * AGGI_LANES + first, s##p);

#define AGGI_STAR_KERNEL(name, attribute, EACH, m, real, vec, load, gap)                           \
    attribute static void name(const aggi_star *t, size_t at, size_t width,                        \
                               double *AGGI_RESTRICT sum) {                                        \
        const real shrink = (real)t->zoom.shrink, grow = (real)t->zoom.grow;                           \
        const size_t end = at + width;                                                             \
        real lane[m * AGGI_LANES];                                                                 \
        size_t stop, first, k, p;                                                                  \
        (void)shrink;                                                                              \
        (void)grow;                                                                                \
        for (; at < end; at = stop) {                                                              \
            stop = at + aggi_width(at, end, AGGI_BLOCK);                                           \
            for (first = 0; first < AGGI_LANES; first += sizeof(vec) / sizeof(real)) {             \
                EACH(AGGI_STAR_ZERO, vec, load, gap)                                               \
                for (k = at + first; k < stop; k += AGGI_LANES) {                                  \
                    vec u, w;                                                                      \
                    load(vec, u, t->from + k);                                                     \
                    EACH(AGGI_STAR_STEP, vec, load, gap)                                           \
                }                                                                                  \
                EACH(AGGI_STAR_STORE, vec, load, gap)                                              \
            }                                                                                      \
            for (p = 0; p < m * AGGI_LANES; p++) sum[p] += (double)lane[p];                        \
        }                                                                                          \
    }

#define AGGI_STARS(name, suffix, attribute, real, vec, load, gap)                                  \
    AGGI_STAR_KERNEL(name##1##suffix, attribute, AGGI_EACH1, 1, real, vec, load, gap)              \
    AGGI_STAR_KERNEL(name##2##suffix, attribute, AGGI_EACH2, 2, real, vec, load, gap)              \
    AGGI_STAR_KERNEL(name##3##suffix, attribute, AGGI_EACH3, 3, real, vec, load, gap)              \
    AGGI_STAR_KERNEL(name##4##suffix, attribute, AGGI_EACH4, 4, real, vec, load, gap)              \
    AGGI_STAR_KERNEL(name##5##suffix, attribute, AGGI_EACH5, 5, real, vec, load, gap)              \
    AGGI_STAR_KERNEL(name##6##suffix, attribute, AGGI_EACH6, 6, real, vec, load, gap)              \
    attribute static void name##suffix(const aggi_star *t, size_t at, size_t width, double *sum) { \
        switch (t->m) {                                                                            \
        case 1: name##1##suffix(t, at, width, sum); break;                                         \
        case 2: name##2##suffix(t, at, width, sum); break;                                         \
        case 3: name##3##suffix(t, at, width, sum); break;                                         \
        case 4: name##4##suffix(t, at, width, sum); break;                                         \
        case 5: name##5##suffix(t, at, width, sum); break;                                         \
        default: name##6##suffix(t, at, width, sum);                                               \
        }                                                                                          \
    }

#define AGGI_LOAD_REALS(vec, v, from) AGGI_LOAD(v, from)
#define AGGI_REAL_STARS(suffix, attribute, vec)                                                    \
    AGGI_STARS(aggi_star, suffix, attribute, agg_real, vec, AGGI_LOAD_REALS, AGGI_PLAIN_GAP)       \
    AGGI_STARS(aggi_zoom_star, suffix, attribute, agg_real, vec, AGGI_LOAD_REALS, AGGI_ZOOMED_GAP)
#ifdef __AVX__ /* never wider than the lanes */
  AGGI_TWINS(AGGI_REAL_STARS, aggi_wide, aggi_wide)
#else
  AGGI_TWINS(AGGI_REAL_STARS, aggi_vec, aggi_wide)
#endif

/* The same with differences and squares in double, for GM: the angles between rows that are far
   away need more than float's distances. Vectors of doubles are loaded by way of a _narrow type. */
#ifdef AGG_DOUBLE
  #define AGGI_EXACT_STAR(avx2) AGGI_TWIN(avx2, aggi_star)
#else
  #define AGGI_EXACT_STAR(avx2) AGGI_TWIN(avx2, aggi_exact_star)
  #ifdef AGGI_CONVERT
    typedef float  aggi_double2_narrow AGGI_VECTOR(8);
    typedef double aggi_double2 AGGI_VECTOR(16);
    typedef float  aggi_double4_narrow AGGI_VECTOR(16);
    typedef double aggi_double4 AGGI_VECTOR(32);
    #define AGGI_LOAD_DOUBLES(vec, v, from)                                                        \
        do {                                                                                       \
            vec##_narrow narrow_;                                                                  \
            AGGI_LOAD(narrow_, from);                                                              \
            v = AGGI_CONVERT(narrow_, vec);                                                        \
        } while (0)
  #else
    typedef double aggi_double2, aggi_double4;
    #define AGGI_LOAD_DOUBLES(vec, v, from) v = (vec)*(from)
  #endif
  #define AGGI_DOUBLE_STARS(suffix, attribute, vec)                                                \
      AGGI_STARS(aggi_exact_star, suffix, attribute, double, vec, AGGI_LOAD_DOUBLES, AGGI_PLAIN_GAP)
  #ifdef __AVX__
    AGGI_TWINS(AGGI_DOUBLE_STARS, aggi_double4, aggi_double4)
  #else
    AGGI_TWINS(AGGI_DOUBLE_STARS, aggi_double2, aggi_double4)
  #endif
#endif

/* clang-format on */

/* A run over pairs: `count` sums at c->part + s * count. */
typedef struct aggi_pairs_job {
    const aggi_call *c;
    size_t count;
    int exact; /* differences in double */
} aggi_pairs_job;

static void aggi_star_lanes(const aggi_pairs_job *job, const aggi_star *t, size_t at, size_t width,
                            double *sum) {
    if (t->zoom.exponent)
        AGGI_TWIN(job->c->avx2, aggi_zoom_star)(t, at, width, sum);
    else if (job->exact)
        AGGI_EXACT_STAR(job->c->avx2)(t, at, width, sum);
    else
        AGGI_TWIN(job->c->avx2, aggi_star)(t, at, width, sum);
}

/* the last coordinates, fewer than 8, as 8 with zeros behind them */
static void aggi_star_rest(const aggi_pairs_job *job, const aggi_star *t, size_t at, size_t width,
                           double *sum) {
    agg_real pad[1 + AGGI_STAR][AGGI_LANES] = {{0}};
    aggi_star padded = *t;
    size_t p;
    memcpy(pad[AGGI_STAR], t->from + at, width * sizeof(agg_real));
    padded.from = pad[AGGI_STAR];
    for (p = 0; p < t->m; p++) {
        memcpy(pad[p], t->to[p] + at, width * sizeof(agg_real));
        padded.to[p] = pad[p];
    }
    aggi_star_lanes(job, &padded, 0, AGGI_LANES, sum);
}

/* part[p] += the squared distance of the pair (from, to[p]) over coordinates [at, at + width) */
static void aggi_star_add(const aggi_pairs_job *job, const aggi_star *t, size_t at, size_t width,
                          double *part) {
    const size_t whole = width / AGGI_LANES * AGGI_LANES;
    double sum[AGGI_STAR * AGGI_LANES] = {0};
    size_t p;
    aggi_star_lanes(job, t, at, whole, sum);
    if (whole < width) aggi_star_rest(job, t, at + whole, width - whole, sum);
    for (p = 0; p < t->m; p++) part[p] += aggi_sum8(sum + p * AGGI_LANES);
}

/* part += the squared distances of all pairs over coordinates [at, at + width). A row's others go
   in stars of nearly the same size. */
static void aggi_pairs_chunk(const aggi_pairs_job *job, size_t at, size_t width, double *part) {
    const size_t n = job->c->n;
    aggi_star t;
    size_t i, j, stars;
    t.zoom = aggi_zoom_make(AGGI_FAIR);
    for (i = 0; i < n; i++) {
        t.from = job->c->x[i];
        for (j = i + 1; j < n; j += t.m) {
            stars = (n - j + AGGI_STAR - 1) / AGGI_STAR;
            t.m = (n - j + stars - 1) / stars;
            memcpy(t.to, job->c->x + j, t.m * sizeof *t.to);
            aggi_star_add(job, &t, at, width, part);
            part += t.m;
        }
    }
}

static void aggi_pairs_run(void *arg, size_t s) {
    const aggi_pairs_job *job = (const aggi_pairs_job *)arg;
    const aggi_call *c = job->c;
    const size_t end = aggi_slice_begin(c, s + 1);
    double *part = c->part + s * job->count;
    size_t at, width;
    memset(part, 0, job->count * sizeof *part);
    for (at = aggi_slice_begin(c, s); at < end; at += width) {
        width = aggi_width(at, end, AGGI_NARROW);
        aggi_pairs_chunk(job, at, width, part);
    }
}

/* Pairs that are done again have a mark, their zoom and one of these. */
#define AGGI_NOW   4u  /* in this run */
#define AGGI_NEXT  8u  /* in the next */
#define AGGI_LATER 16u /* after these, if need be */

/* the next of row i's pairs, from j on, that has the mark; n: there is none */
static size_t aggi_next_marked(const aggi_call *c, size_t i, size_t j, unsigned mark) {
    const unsigned char *row = c->pairs.mark + i * c->n;
    while (j < c->n && row[j] != mark) j++;
    return j;
}

/* part += the squared distances of row i's pairs with this mark; returns the end of them */
static double *aggi_again_row(const aggi_pairs_job *job, size_t i, unsigned mark, size_t at,
                              size_t width, double *part) {
    const aggi_call *c = job->c;
    size_t j = aggi_next_marked(c, i, i + 1, mark);
    aggi_star t;
    t.from = c->x[i];
    t.zoom = aggi_zoom_make(mark - AGGI_NOW);
    for (; j < c->n; part += t.m) {
        for (t.m = 0; t.m < AGGI_STAR && j < c->n; j = aggi_next_marked(c, i, j + 1, mark))
            t.to[t.m++] = c->x[j];
        aggi_star_add(job, &t, at, width, part);
    }
    return part;
}

static void aggi_again_run(void *arg, size_t s) {
    const aggi_pairs_job *job = (const aggi_pairs_job *)arg;
    const aggi_call *c = job->c;
    const size_t end = aggi_slice_begin(c, s + 1);
    double *part = c->part + s * job->count;
    size_t at, width, i;
    memset(part, 0, job->count * sizeof *part);
    for (at = aggi_slice_begin(c, s); at < end; at += width) {
        double *to = part;
        width = aggi_width(at, end, c->n < AGGI_GRAM ? AGGI_NARROW : AGGI_CHUNK);
        for (i = 0; i < c->n; i++) {
            unsigned kind;
            for (kind = AGGI_FAIR; kind <= AGGI_GROWN; kind++)
                to = aggi_again_row(job, i, AGGI_NOW | kind, at, width, to);
        }
    }
}

/* How is a sum to be made that came out so when it was made as `kind`? The same: it is good. */
static unsigned aggi_zoom_next(double sum, unsigned kind, int exact) {
    if (kind == AGGI_FAIR) return aggi_zoom_for(sum, exact);
    if (kind == AGGI_SHRUNK) return sum < AGGI_TINY ? AGGI_FAIR : kind;
    return aggi_finite(sum) && sum <= AGGI_HUGE ? kind : AGGI_FAIR;
}

/* Enters the sums of a run. One that is not finite although rows were shrunk convicts a row. */
static int aggi_again_enter(aggi_call *c, int exact) {
    const double *sum = c->part;
    size_t i, j;
    unsigned kind;
    for (i = 0; i < c->n; i++) {
        for (kind = AGGI_FAIR; kind <= AGGI_GROWN; kind++) {
            for (j = i; (j = aggi_next_marked(c, i, j + 1, AGGI_NOW | kind)) < c->n; sum++) {
                const unsigned next = aggi_zoom_next(*sum, kind, exact);
                if (kind == AGGI_SHRUNK && !aggi_finite(*sum)) return AGGI_NOT_FINITE;
                c->pairs.entry[i * c->n + j] = *sum;
                c->pairs.mark[i * c->n + j] =
                    (unsigned char)(next == kind ? kind : AGGI_NEXT | next);
            }
        }
    }
    return AGG_OK;
}

/* AGGI_NEXT is AGGI_NOW from here on; returns how many pairs that is */
static size_t aggi_again_count(aggi_call *c) {
    unsigned char *mark = c->pairs.mark;
    size_t k, now = 0;
    for (k = 0; k < c->n * c->n; k++) {
        if (mark[k] & AGGI_NEXT) mark[k] = (unsigned char)(mark[k] % AGGI_NOW | AGGI_NOW);
        now += (mark[k] & AGGI_NOW) != 0;
    }
    return now;
}

/* All pairs marked AGGI_NOW; those then in doubt as they need it. */
static int aggi_pairs_again(aggi_call *c, int exact) {
    aggi_pairs_job job;
    int run;
    job.c = c;
    job.exact = exact;
    for (run = 0; run < 3; run++) {
        job.count = aggi_again_count(c);
        if (!job.count) break;
        aggi_add_slices(c, aggi_again_run, &job, job.count);
        if (aggi_again_enter(c, exact)) return AGGI_NOT_FINITE;
    }
    return AGG_OK;
}

/* Pair i < j is to be done again: now if it is row j's first, else later. The first ones are enough
   to convict a row with a NaN or Inf (by its pair with row 0, or all pairs of row 0), and to find
   which rows are equal. Pairs come in the order of i; the lower half of the marks remembers. */
static void aggi_pair_doubt(aggi_call *c, size_t i, size_t j, unsigned kind) {
    unsigned char *first = c->pairs.mark + j * c->n;
    c->pairs.mark[i * c->n + j] = (unsigned char)(kind | (*first ? AGGI_LATER : AGGI_NOW));
    *first = 1;
}

/* Enters the sums of all pairs into the upper half of the matrix. */
static size_t aggi_pairs_enter(aggi_call *c, int exact) {
    const size_t n = c->n;
    const double *sum = c->part;
    size_t i, j, doubts = 0;
    memset(c->pairs.mark, 0, n * n);
    for (i = 0; i < n; i++) {
        for (j = i + 1; j < n; j++, sum++) {
            const unsigned kind = aggi_zoom_for(*sum, exact);
            c->pairs.entry[i * n + j] = *sum;
            if (kind == AGGI_FAIR) continue;
            aggi_pair_doubt(c, i, j, kind);
            doubts++;
        }
    }
    return doubts;
}

/* Rows i < j are equal if both are equal to the same row before them. */
static int aggi_rows_equal(const aggi_call *c, size_t i, size_t j) {
    const unsigned char *mark = c->pairs.mark;
    const double *entry = c->pairs.entry;
    const size_t n = c->n;
    size_t r;
    for (r = 0; r < i && !mark[r * n + j]; r++) continue;
    return r < i && mark[r * n + j] == AGGI_GROWN && mark[r * n + i] == AGGI_GROWN &&
           !(entry[r * n + j] > 0) && !(entry[r * n + i] > 0);
}

/* What was left for later comes now, but for rows known to be equal. */
static void aggi_pairs_rest(aggi_call *c) {
    const size_t n = c->n;
    size_t i, j;
    for (j = 1; j < n; j++) {
        if (!c->pairs.mark[j * n]) continue;
        for (i = 0; i < j; i++) {
            unsigned char *mark = c->pairs.mark + i * n + j;
            if (!(*mark & AGGI_LATER)) continue;
            if (!aggi_rows_equal(c, i, j)) {
                *mark = (unsigned char)(*mark % AGGI_NOW | AGGI_NOW);
                continue;
            }
            c->pairs.entry[i * n + j] = 0;
            *mark = AGGI_GROWN;
        }
    }
}

/* c->item = all rows by distance from row i, itself first */
static void aggi_by_distance(aggi_call *c, size_t i) {
    aggi_rank(c->item, c->pairs.entry + i * c->n, c->n, i);
}

static size_t aggi_count_below(const double *v, size_t n, double limit) {
    size_t i, count = 0;
    for (i = 0; i < n; i++) count += v[i] < limit;
    return count;
}

/* The row whose ball of `count` rows, itself included, is smallest: every set of that many rows has
   at least this radius as diameter, and the ball at most twice as much. Leaves the ball in item[0
   .. count-1]. */
static size_t aggi_best_ball(aggi_call *c, size_t count, double *radius) {
    size_t i, best = 0;
    *radius = aggi_infinity();
    for (i = 0; i < c->n; i++) {
        if (aggi_count_below(c->pairs.entry + i * c->n, c->n, *radius) < count)
            continue; /* no smaller ball here: spare the sort */
        aggi_by_distance(c, i);
        *radius = c->item[count - 1].key;
        best = i;
    }
    aggi_by_distance(c, best);
    return best;
}

/* The numbers of all rows that come next, asked for a few at a time while those at hand are worked
   on. Rows are read in pieces so short that the machine does not see what is coming. */
typedef struct aggi_ahead {
    const agg_real *const *x;
    size_t at, width; /* coordinates; width 0: there are none */
    size_t row, k;    /* the next to be asked for */
    size_t n;
} aggi_ahead;

static aggi_ahead aggi_ahead_make(const aggi_call *c, size_t at, size_t most) {
    aggi_ahead h;
    h.x = c->x;
    h.at = at;
    h.width = aggi_width(at, c->dim, most);
    h.row = h.k = 0;
    h.n = h.width ? c->n : 0;
    return h;
}

AGGI_INLINE void aggi_ask(aggi_ahead *h, size_t lines) {
    for (; lines && h->row < h->n; lines--) {
        AGGI_PREFETCH(h->x[h->row] + h->at + h->k);
        h->k += 64 / sizeof(agg_real);
        if (h->k < h->width) continue;
        h->k = 0;
        h->row++;
    }
}

/* Many rows. With a_i = x_i - x_o, seen from a row o among the others, ||x_i - x_j||^2 = a_i.a_i +
   a_j.a_j - 2 a_i.a_j, and a dot product takes half the time of a distance: n^2/2 multiplications
   and additions a coordinate. Rows that are larger or smaller than usual are taken 2^-size times as
   large. Lanes as above, but AGGI_PACKED coordinates of a block, which are packed first.
   The error: with u = 2^-24 (2^-53) a product of 64 terms a lane, two more additions and the
   rounding of a are off by at most 68 u sum |a_i a_j|, so the squared distance is by at most
   140 u (||a_i||^2 + ||a_j||^2). Where that is more than AGGI_DOUBT of it, it is done again as
   above: rows close together and far away from row o. */
#define AGGI_DOUBT      (sizeof(agg_real) > 4 ? 1.0 / 68719476736.0 : 1.0 / 8192) /* 2^-36, 2^-13 */
#define AGGI_GRAM_ERROR (140 * AGGI_REAL_ULP)

/* clang-format off */

/* v into a register: compilers like to load a row once for each of its uses */
#ifdef AGGI_X86
  #define AGGI_KEEP(v) __asm__("" : "+x"(v))
#else
  #define AGGI_KEEP(v) ((void)0)
#endif

/* one row against three */
#define AGGI_DOT3(from, s, t, r)                                                                   \
    AGGI_LOAD(w, from);                                                                            \
    AGGI_KEEP(w);                                                                                  \
    s += w * x;                                                                                    \
    t += w * y;                                                                                    \
    r += w * z;

/* part[3 p + q] += a_p.b_q for three rows each, AGGI_PACKED apart; and for all threes of rows j <=
   i, twelve of j at a time, so that they stay in the nearest cache */
#define AGGI_GRAM_KERNEL(suffix, attribute, vec)                                                   \
    attribute static void aggi_dots##suffix(const agg_real *a, const agg_real *b, size_t width,    \
                                            double *part) {                                        \
        agg_real lane[9 * AGGI_LANES];                                                             \
        size_t first, k, p;                                                                        \
        for (first = 0; first < AGGI_LANES; first += sizeof(vec) / sizeof *lane) {                 \
            vec s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, s4 = {0};                                  \
            vec s5 = {0}, s6 = {0}, s7 = {0}, s8 = {0}, x, y, z, w;                                \
            for (k = first; k < width; k += AGGI_LANES) {                                          \
                AGGI_LOAD(x, b + k);                                                               \
                AGGI_LOAD(y, b + k + AGGI_PACKED);                                                 \
                AGGI_LOAD(z, b + k + 2 * AGGI_PACKED);                                             \
                AGGI_KEEP(x);                                                                      \
                AGGI_KEEP(y);                                                                      \
                AGGI_KEEP(z);                                                                      \
                AGGI_DOT3(a + k, s0, s1, s2)                                                       \
                AGGI_DOT3(a + k + AGGI_PACKED, s3, s4, s5)                                         \
                AGGI_DOT3(a + k + 2 * AGGI_PACKED, s6, s7, s8)                                     \
            }                                                                                      \
            AGGI_STORE(lane + first, s0);                                                          \
            AGGI_STORE(lane + first + 1 * AGGI_LANES, s1);                                         \
            AGGI_STORE(lane + first + 2 * AGGI_LANES, s2);                                         \
            AGGI_STORE(lane + first + 3 * AGGI_LANES, s3);                                         \
            AGGI_STORE(lane + first + 4 * AGGI_LANES, s4);                                         \
            AGGI_STORE(lane + first + 5 * AGGI_LANES, s5);                                         \
            AGGI_STORE(lane + first + 6 * AGGI_LANES, s6);                                         \
            AGGI_STORE(lane + first + 7 * AGGI_LANES, s7);                                         \
            AGGI_STORE(lane + first + 8 * AGGI_LANES, s8);                                         \
        }                                                                                          \
        for (p = 0; p < 9; p++) {                                                                  \
            const agg_real *v = lane + p * AGGI_LANES;                                             \
            double sum[4];                                                                         \
            for (k = 0; k < 4; k++) sum[k] = (double)(v[k] + v[k + 4]);                            \
            part[p] += (sum[0] + sum[1]) + (sum[2] + sum[3]);                                      \
        }                                                                                          \
    }                                                                                              \
    attribute static void aggi_gram##suffix(const agg_real *pack, size_t threes, size_t width,     \
                                            aggi_ahead *next, double *part) {                      \
        const size_t far_apart = 3 * AGGI_PACKED, lines = 200 / threes + 1;                        \
        size_t panel, i, j;                                                                        \
        for (panel = 0; panel < threes; panel += 4) {                                              \
            for (i = panel; i < threes; i++) {                                                     \
                for (j = panel; j < panel + 4 && j <= i; j++) {                                    \
                    aggi_ask(next, lines);                                                         \
                    aggi_dots##suffix(pack + i * far_apart, pack + j * far_apart, width,           \
                                      part + 9 * (i * (i + 1) / 2 + j));                           \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    attribute static void aggi_pack##suffix(const agg_real *AGGI_RESTRICT x,                       \
                                            const agg_real *AGGI_RESTRICT o, size_t width,         \
                                            aggi_zoom zoom, agg_real *AGGI_RESTRICT to) {          \
        const agg_real shrink = (agg_real)zoom.shrink, grow = (agg_real)zoom.grow;                 \
        size_t k;                                                                                  \
        for (k = 0; k < width; k++) to[k] = (x[k] * shrink - o[k] * shrink) * grow;                \
    }
#ifdef __AVX__
  AGGI_TWINS(AGGI_GRAM_KERNEL, aggi_wide, aggi_wide)
#else
  AGGI_TWINS(AGGI_GRAM_KERNEL, aggi_vec, aggi_wide)
#endif

/* clang-format on */

/* rows of this size, made usual */
static aggi_zoom aggi_zoom_by(int size) {
    aggi_zoom z;
    z.shrink = size > 0 ? aggi_pow2(-size) : 1;
    z.grow = size < 0 ? aggi_pow2(-size) : 1;
    z.exponent = 2 * size;
    return z;
}

/* The size of a row whose numbers are up to about 2^e. */
static int aggi_size_of(int e) {
    const int usual = sizeof(agg_real) > 4 ? 128 : 16, most = sizeof(agg_real) > 4 ? 1000 : 100;
    if (e >= -usual && e <= usual) return 0;
    return e > most ? most : e < -most ? -most : e;
}

static void aggi_gram_run(void *arg, size_t s) {
    const aggi_pairs_job *job = (const aggi_pairs_job *)arg;
    const aggi_call *c = job->c;
    const aggi_pairs *p = &c->pairs;
    const size_t threes = aggi_threes(c->n), end = aggi_slice_begin(c, s + 1);
    agg_real *pack = p->pack + s * 3 * aggi_threes(c->desc->n) * AGGI_PACKED;
    double *part = c->part + s * job->count;
    size_t at, width, i;
    memset(part, 0, job->count * sizeof *part);
    memset(pack, 0, 3 * threes * AGGI_PACKED * sizeof *pack);
    for (at = aggi_slice_begin(c, s); at < end; at += width) {
        aggi_ahead next;
        size_t lanes;
        width = aggi_width(at, end, AGGI_PACKED);
        next = aggi_ahead_make(c, at + width, AGGI_PACKED);
        lanes = (width + AGGI_LANES - 1) / AGGI_LANES * AGGI_LANES;
        for (i = 0; i < c->n; i++) {
            agg_real *to = pack + i * AGGI_PACKED;
            memset(to + width, 0, (lanes - width) * sizeof *to);
            AGGI_TWIN(c->avx2, aggi_pack)
            (c->x[i] + at, c->x[p->center] + at, width, aggi_zoom_by(p->size[i]), to);
        }
        AGGI_TWIN(c->avx2, aggi_gram)(pack, threes, lanes, &next, part);
    }
}

/* c->part has the dot products of three rows with three, those of rows 3 q with rows 3 p here,
   p <= q: that of rows 3 p + r and 3 q + s is number 3 s + r. */
static const double *aggi_gram_at(const aggi_call *c, size_t p, size_t q) {
    return c->part + 9 * (q * (q + 1) / 2 + p);
}

/* Enters the pair i < j by a_i.a_j, p->score having a_i.a_i; returns 1 if it is in doubt. */
static int aggi_gram_enter(aggi_call *c, size_t i, size_t j, double dot) {
    const aggi_pairs *p = &c->pairs;
    const int a = p->size[i], b = p->size[j], larger = a > b ? a : b;
    double squares = p->score[i] + p->score[j], least = AGGI_TINY, v;
    unsigned kind = AGGI_FAIR;
    if (a || b) {
        int back;
        kind = larger > 450 ? AGGI_SHRUNK : larger < -450 ? AGGI_GROWN : AGGI_FAIR;
        back = aggi_zoom_make(kind).exponent;
        squares = aggi_scaled(p->score[i], 2 * a - back) + aggi_scaled(p->score[j], 2 * b - back);
        dot = aggi_scaled(dot, a + b - back);
        least = aggi_scaled(least, 2 * larger - back);
    }
    v = squares - 2 * dot;
    p->entry[i * c->n + j] = v;
    p->mark[i * c->n + j] = (unsigned char)kind;
    if (aggi_finite(v) && AGGI_GRAM_ERROR * (squares + 2 * least) <= AGGI_DOUBT * v) return 0;
    aggi_pair_doubt(c, i, j, AGGI_FAIR);
    return 1;
}

/* Enters all pairs into the upper half of the matrix; returns how many are in doubt. */
static size_t aggi_gram_enter_all(aggi_call *c) {
    const size_t threes = aggi_threes(c->n);
    size_t p, q, i, j, doubts = 0;
    memset(c->pairs.mark, 0, c->n * c->n);
    for (i = 0; i < c->n; i++) c->pairs.score[i] = aggi_gram_at(c, i / 3, i / 3)[4 * (i % 3)];
    for (q = 0; q < threes; q++) { /* as c->part has them */
        for (p = 0; p <= q; p++) {
            const double *dot = aggi_gram_at(c, p, q);
            for (i = 3 * p; i < 3 * p + 3; i++)
                for (j = q > p ? 3 * q : i + 1; j < 3 * q + 3 && j < c->n; j++)
                    doubts += (size_t)aggi_gram_enter(c, i, j, dot[3 * (j - 3 * q) + i - 3 * p]);
        }
    }
    return doubts;
}

/* The row in the middle: of the smallest ball of a majority, by the upper half of the matrix as it
   is. */
static size_t aggi_gram_center(aggi_call *c) {
    double *entry = c->pairs.entry, radius;
    const size_t n = c->n;
    size_t i, j;
    for (i = 0; i < n; i++) {
        entry[i * n + i] = 0;
        for (j = i + 1; j < n; j++) {
            const double v = entry[i * n + j];
            entry[j * n + i] = entry[i * n + j] = aggi_finite(v) ? aggi_max(v, 0) : aggi_infinity();
        }
    }
    return aggi_best_ball(c, n / 2 + 1, &radius);
}

/* A sample of the coordinates, at most so many groups of 8, all over the row; returns how many
   numbers. */
static size_t aggi_sample(const aggi_call *c, const agg_real *x, size_t most, agg_real *to) {
    const size_t want = c->dim / 256, groups = want > most ? most : want < 8 ? 8 : want;
    size_t g;
    for (g = 0; g < groups; g++)
        memcpy(to + 8 * g, x + (c->dim - 8) / (groups - 1) * g, 8 * sizeof *to);
    return 8 * groups;
}

/* sum = squared distances of m rows, `apart` from each other, from another */
static void aggi_sample_distances(const aggi_call *c, const agg_real *from, const agg_real *to,
                                  size_t apart, size_t m, size_t count, double *sum) {
    aggi_pairs_job job;
    aggi_star t;
    size_t j;
    job.c = c;
    job.exact = 1;
    job.count = m;
    t.from = from;
    t.zoom = aggi_zoom_make(AGGI_FAIR);
    memset(sum, 0, m * sizeof *sum);
    for (j = 0; j < m; j += t.m) {
        for (t.m = 0; t.m < AGGI_STAR && j + t.m < m; t.m++) t.to[t.m] = to + (j + t.m) * apart;
        aggi_star_add(&job, &t, 0, count, sum + j);
    }
}

/* log2 of the largest number of x - o */
static int aggi_sample_size(const agg_real *x, const agg_real *o, size_t count) {
    double most = 0;
    size_t k;
    for (k = 0; k < count; k++) {
        const double v = aggi_abs((double)x[k] - (double)o[k]);
        if (!aggi_finite(v)) return 1024;
        most = aggi_max(most, v);
    }
    return most > 0 ? aggi_exponent(most) : 0;
}

/* p->center and p->size by a sample: of some rows the one whose ball of a majority is smallest */
static void aggi_gram_begin(aggi_call *c) {
    aggi_pairs *p = &c->pairs;
    const size_t n = c->n, tries = n < 24 ? n : 24;
    double radius = aggi_infinity();
    size_t i, j, t, count = 0;
    for (i = 0; i < n; i++)
        count = aggi_sample(c, c->x[i], AGGI_PACKED / 8, p->pack + i * AGGI_PACKED);
    p->center = 0;
    for (t = 0; t < tries; t++) {
        aggi_sample_distances(c, p->pack + t * n / tries * AGGI_PACKED, p->pack, AGGI_PACKED, n,
                              count, p->score);
        for (j = 0; j < n; j++)
            if (!aggi_finite(p->score[j])) p->score[j] = aggi_infinity();
        if (aggi_count_below(p->score, n, radius) <= n / 2) continue; /* no smaller ball here */
        aggi_rank(c->item, p->score, n, n);
        radius = c->item[n / 2].key;
        p->center = t * n / tries;
    }
    for (i = 0; i < n; i++)
        p->size[i] = aggi_size_of(
            aggi_sample_size(p->pack + i * AGGI_PACKED, p->pack + p->center * AGGI_PACKED, count));
}

/* p->center and p->size by a first pass that was not good enough. Returns 0 if they are the same
   again. */
static int aggi_gram_improve(aggi_call *c) {
    aggi_pairs *p = &c->pairs;
    const size_t old = p->center;
    int better;
    size_t i;
    p->center = aggi_gram_center(c);
    better = p->center != old;
    for (i = 0; i < c->n; i++) {
        const size_t low = i < p->center ? i : p->center, high = i < p->center ? p->center : i;
        const double v = p->entry[i * c->n + p->center];
        const int e = aggi_zoom_make(p->mark[low * c->n + high] % AGGI_NOW).exponent;
        const int size = !aggi_finite(v) ? aggi_size_of(1024)
                         : v > 0         ? aggi_size_of((aggi_exponent(v) + e) / 2)
                                         : 0;
        better |= size != p->size[i];
        p->size[i] = size;
    }
    return better;
}

/* All pairs by dot products. If the row they are seen from was a bad choice, or some rows are much
   larger than the sample said, once more: but not for a NaN. Returns how many are in doubt. */
static size_t aggi_gram_pairs(aggi_call *c) {
    const size_t few = c->n * (c->n - 1) / 8;
    size_t doubts;
    aggi_pairs_job job;
    job.c = c;
    job.exact = 0;
    job.count = aggi_gram_sums(c->n);
    aggi_gram_begin(c);
    aggi_add_slices(c, aggi_gram_run, &job, job.count);
    doubts = aggi_gram_enter_all(c);
    if (doubts <= few || aggi_pairs_again(c, 0) || !aggi_gram_improve(c)) return doubts;
    aggi_add_slices(c, aggi_gram_run, &job, job.count);
    return aggi_gram_enter_all(c);
}

/* Few rows: marks how each pair will have to be summed, by a sample, so that giants do not cost a
   run that is in vain. Returns 0 if all are fair. */
static int aggi_foresee(aggi_call *c, int exact) {
    const size_t n = c->n;
    agg_real sample[AGGI_GRAM][64];
    double sum[AGGI_GRAM];
    int unusual = 0;
    size_t i, j;
    if (n >= AGGI_GRAM || c->dim < 8192) return 0;
    if (exact && sizeof(agg_real) < sizeof(double)) return 0;
    memset(c->pairs.mark, 0, n * n);
    for (i = 0; i < n; i++) (void)aggi_sample(c, c->x[i], 8, sample[i]);
    for (i = 0; i < n; i++) {
        aggi_sample_distances(c, sample[i], sample[0], 64, n, 64, sum);
        for (j = i + 1; j < n; j++) {
            unsigned kind = AGGI_FAIR;
            if (!aggi_finite(sum[j]) || sum[j] > AGGI_HUGE_SEEN)
                kind = AGGI_SHRUNK;
            else if (sum[j] < AGGI_TINY && aggi_sample_size(sample[i], sample[j], 64) < 0)
                kind = AGGI_GROWN;
            c->pairs.mark[i * n + j] = (unsigned char)(AGGI_NOW | kind);
            unusual |= kind != AGGI_FAIR;
        }
    }
    return unusual;
}

/* All pairs by differences. Returns how many are in doubt, or are still to be done. */
static size_t aggi_star_pairs(aggi_call *c, int exact) {
    aggi_pairs_job job;
    job.c = c;
    job.exact = exact;
    job.count = c->n * (c->n - 1) / 2;
    if (aggi_foresee(c, exact)) return job.count;
    aggi_add_slices(c, aggi_pairs_run, &job, job.count);
    return aggi_pairs_enter(c, exact);
}

/* The exponents of the squared distances, from *low to *high; 0 where all rows are equal. */
static void aggi_pairs_range(const aggi_call *c, int *low, int *high) {
    size_t i, j;
    *low = 4096;
    *high = -4096;
    for (i = 0; i < c->n; i++) {
        for (j = i + 1; j < c->n; j++) {
            const double v = c->pairs.entry[i * c->n + j];
            const int e = aggi_exponent(v) + aggi_zoom_make(c->pairs.mark[i * c->n + j]).exponent;
            if (!(v > 0)) continue;
            if (e < *low) *low = e;
            if (e > *high) *high = e;
        }
    }
    if (*low > *high) *low = *high = 0;
}

/* entry = the pair's squared distance, or root, from the sum as its zoom made it */
AGGI_INLINE double aggi_pair_value(const aggi_pairs *p, size_t at, int unit) {
    const unsigned kind = p->mark[at];
    const int e = (kind ? aggi_zoom_make(kind).exponent : 0) - unit;
    const double v = p->entry[at];
    if (p->roots) return aggi_root0(aggi_root0(v)) * aggi_pow2(e / 4);
    return e ? aggi_scaled(v, e) : v;
}

/* Squared distances of doubles may not fit a double. Then the matrix is wide, and has them in a
   unit of its own, a power of two; if there is no such unit for all, it has roots. The other half
   is filled by columns few enough to stay in the cache. */
static void aggi_pairs_finish(aggi_call *c) {
    const size_t n = c->n, few = 64;
    aggi_pairs *p = &c->pairs;
    int low = 0, high = 0, unit;
    size_t from, i, j;
    if (sizeof(agg_real) == sizeof(double)) aggi_pairs_range(c, &low, &high);
    p->wide = low < -960 || high > 960;
    p->roots = high - low > 1900;
    unit = p->wide && !p->roots ? (low + high) / 8 * 4 : 0;
    p->unit = aggi_pow2(unit / 4);
    for (from = 0; from < n; from += few) {
        const size_t end = from + aggi_width(from, n, few);
        for (i = 0; i < end; i++) {
            p->entry[i * n + i] = 0;
            for (j = i < from ? from : i + 1; j < end; j++)
                p->entry[i * n + j] = p->entry[j * n + i] = aggi_pair_value(p, i * n + j, unit);
        }
    }
}

/* Fills c->pairs for the rows in play; exact: floats are subtracted and squared in double. */
static int aggi_find_pairs(aggi_call *c, int exact) {
    const int gram = aggi_has_gram(c->n, c->dim) && !exact;
    if (gram ? aggi_gram_pairs(c) : aggi_star_pairs(c, exact)) {
        if (aggi_pairs_again(c, exact)) return AGGI_NOT_FINITE;
        aggi_pairs_rest(c);
        (void)aggi_pairs_again(c, exact);
    }
    aggi_pairs_finish(c);
    return AGG_OK;
}

/* an entry of the matrix as a root */
static double aggi_pair_root(const aggi_pairs *p, double v) {
    return p->roots ? v : aggi_root0(aggi_root0(v)) * p->unit;
}

/* an entry of the matrix as a squared distance, in units of another entry */
static double aggi_pair_square(const aggi_pairs *p, double v, double unit) {
    return p->roots ? aggi_squared(aggi_ratio(v, unit)) : v / unit;
}

/* ||x - v||^2, v == NULL: ||x||^2 */
AGGI_INLINE double aggi_square_body(const agg_real *x, const agg_real *v, size_t width,
                                    double shrink, double grow) {
    double lane[8] = {0};
    if (v)
        AGGI_ADD_IN_LANES(lane, 8, width, k,
                          aggi_squared(((double)x[k] * shrink - (double)v[k] * shrink) * grow));
    else
        AGGI_ADD_IN_LANES(lane, 8, width, k, aggi_squared((double)x[k] * shrink * grow));
    return aggi_sum8(lane);
}

#define AGGI_SQUARE_KERNEL(suffix, attribute, vec)                                                 \
    attribute static double aggi_square##suffix(const agg_real *x, const agg_real *v,              \
                                                size_t width) {                                    \
        return aggi_square_body(x, v, width, 1, 1);                                                \
    }                                                                                              \
    attribute static double aggi_zoom_square##suffix(const agg_real *x, const agg_real *v,         \
                                                     size_t width, aggi_zoom z) {                  \
        return aggi_square_body(x, v, width, z.shrink, z.grow);                                    \
    }
AGGI_TWINS(AGGI_SQUARE_KERNEL, aggi_vec, aggi_wide)

typedef struct aggi_roots_job {
    const aggi_call *c;
    const agg_real *const *row; /* n */
    size_t n;
    const agg_real *center;
    const double *sum; /* n: what came out first, NULL: nothing yet */
} aggi_roots_job;

static void aggi_roots_run(void *arg, size_t s) {
    const aggi_roots_job *job = (const aggi_roots_job *)arg;
    const aggi_call *c = job->c;
    const size_t begin = aggi_slice_begin(c, s), width = aggi_slice_begin(c, s + 1) - begin;
    const agg_real *center = job->center ? job->center + begin : NULL;
    double *part = c->part + s * job->n;
    size_t i;
    for (i = 0; i < job->n; i++) {
        const agg_real *x = job->row[i] + begin;
        aggi_zoom z;
        if (!job->sum) {
            part[i] = AGGI_TWIN_OF_LANES(c->avx2, width, aggi_square)(x, center, width);
            continue;
        }
        z = aggi_zoom_make(aggi_zoom_for(job->sum[i], 1));
        part[i] = 0;
        if (z.exponent)
            part[i] = AGGI_TWIN_OF_LANES(c->avx2, width, aggi_zoom_square)(x, center, width, z);
    }
}

/* root[i] = sqrt(||row_i - center||); center == NULL: of the norm */
static int aggi_find_roots(const aggi_call *c, const agg_real *const *row, size_t n,
                           const agg_real *center, double *root) {
    aggi_roots_job job;
    size_t i, again = 0;
    job.c = c;
    job.row = row;
    job.n = n;
    job.center = center;
    job.sum = NULL;
    aggi_add_slices(c, aggi_roots_run, &job, n);
    for (i = 0; i < n; i++) {
        root[i] = c->part[i];
        again += aggi_zoom_for(root[i], 1) != AGGI_FAIR;
    }
    job.sum = root;
    if (again && aggi_sum_slices(c, aggi_roots_run, &job, n)) return AGGI_NOT_FINITE;
    for (i = 0; i < n; i++) {
        const unsigned kind = aggi_zoom_for(root[i], 1);
        root[i] = aggi_root0(aggi_root0(kind == AGGI_FAIR ? root[i] : c->part[i])) *
                  aggi_pow2(aggi_zoom_make(kind).exponent / 4);
    }
    return AGG_OK;
}

/* ---- 5 weighted sums of rows ----------------------------------------------------------------- */

/* The blend sum_i weight_i row_i / total. The weights sum to total, so it is written as
   x_0 + sum_i w_i (x_i - x_0), with x_0 the row of most weight: equal rows come out exactly, and a
   giant of hardly any weight spoils nothing. A single row may have any weight: it is scaled. */

/* acc += w (x - base) for one row, and for four at once */
AGGI_INLINE void aggi_add_row(const agg_real *AGGI_RESTRICT x, double w, size_t width,
                              const double *AGGI_RESTRICT base, double *AGGI_RESTRICT acc) {
    size_t k;
    for (k = 0; k < width; k++) acc[k] += w * ((double)x[k] - base[k]);
}

AGGI_INLINE void aggi_add_four(const agg_real *const *x, const double *w, size_t at, size_t width,
                               const double *AGGI_RESTRICT base, double *AGGI_RESTRICT acc) {
    const agg_real *AGGI_RESTRICT x0 = x[0] + at, *AGGI_RESTRICT x1 = x[1] + at;
    const agg_real *AGGI_RESTRICT x2 = x[2] + at, *AGGI_RESTRICT x3 = x[3] + at;
    size_t k;
    for (k = 0; k < width; k++) {
        const double a = acc[k] + w[0] * ((double)x0[k] - base[k]);
        const double b = a + w[1] * ((double)x1[k] - base[k]);
        const double c = b + w[2] * ((double)x2[k] - base[k]);
        acc[k] = c + w[3] * ((double)x3[k] - base[k]);
    }
}

/* returns whether some number is not finite */
AGGI_INLINE int aggi_blend_body(const aggi_blend *b, size_t at, size_t width,
                                double *AGGI_RESTRICT acc) {
    const agg_real *x[4];
    double w[4], base[AGGI_BLOCK], scale;
    size_t i, k, heavy = 0, used = 0, count = 0;
    uint64_t odd = 0;
    for (i = 0; i < b->n; i++) {
        used += b->weight[i] != 0;
        if (b->weight[i] > b->weight[heavy]) heavy = i;
    }
    scale = used == 1 ? b->weight[heavy] / b->total : 1;
    for (k = 0; k < width; k++) {
        base[k] = (double)b->row[heavy][at + k];
        acc[k] = base[k] * scale;
    }
    for (i = 0; i < b->n; i++) {
        if (b->weight[i] == 0 || i == heavy) continue;
        x[count] = b->row[i];
        w[count++] = b->weight[i] / b->total;
        if (count < 4) continue;
        aggi_add_four(x, w, at, width, base, acc);
        count = 0;
    }
    for (i = 0; i < count; i++) aggi_add_row(x[i] + at, w[i], width, base, acc);
    for (k = 0; k < width; k++) odd |= aggi_bits(acc[k] - acc[k]); /* 0, or a NaN */
    return odd != 0;
}

#define AGGI_BLEND_KERNEL(suffix, attribute, vec)                                                  \
    attribute static int aggi_blend##suffix(const aggi_blend *b, size_t at, size_t width,          \
                                            double *acc) {                                         \
        return aggi_blend_body(b, at, width, acc);                                                 \
    }
AGGI_TWINS(AGGI_BLEND_KERNEL, aggi_vec, aggi_wide)

/* One column of it, for finite numbers so large that a difference overflowed (double builds). */
static double aggi_blend_giants(const aggi_blend *b, size_t at) {
    double sum = 0;
    size_t i;
    for (i = 0; i < b->n; i++)
        if (b->weight[i] != 0) sum += b->weight[i] / b->total * (0.125 * (double)b->row[i][at]);
    return aggi_clamp(sum * 8);
}

/* acc = coordinates [at, at + width) of the blend, width <= AGGI_BLOCK */
static int aggi_blend_columns(const aggi_call *c, const aggi_blend *b, size_t at, size_t width,
                              double *acc) {
    size_t k;
    if (!AGGI_TWIN(c->avx2, aggi_blend)(b, at, width, acc)) return AGG_OK;
    if (!c->scanned) return AGGI_NOT_FINITE;
    for (k = 0; k < width; k++)
        if (!aggi_finite(acc[k])) acc[k] = aggi_blend_giants(b, at + k);
    return AGG_OK;
}

/* what the weights of a rule make of the rows in play */
static aggi_blend aggi_result(const aggi_call *c) {
    aggi_blend b;
    b.row = c->x;
    b.weight = c->weight;
    b.n = c->n;
    b.total = c->total;
    return b;
}

/* the result is the mean of these rows */
static void aggi_choose(aggi_call *c, const size_t *row, size_t count) {
    size_t i;
    for (i = 0; i < c->n; i++) c->weight[i] = 0;
    for (i = 0; i < count; i++) c->weight[row[i]] = 1;
    c->total = (double)count;
}

/* the result is the mean of the first `count` rows of c->item */
static void aggi_choose_ranked(aggi_call *c, size_t count) {
    size_t i;
    for (i = 0; i < c->n; i++) c->weight[i] = 0;
    for (i = 0; i < count; i++) c->weight[c->item[i].index] = 1;
    c->total = (double)count;
}

typedef struct aggi_combine_job {
    const aggi_call *c;
    const aggi_blend *blend;
    int status[AGGI_SLICES];
} aggi_combine_job;

static void aggi_combine_run(void *arg, size_t s) {
    aggi_combine_job *job = (aggi_combine_job *)arg;
    const size_t end = aggi_slice_begin(job->c, s + 1);
    double acc[AGGI_BLOCK];
    size_t at, k, width;
    job->status[s] = AGG_OK;
    for (at = aggi_slice_begin(job->c, s); at < end; at += width) {
        width = aggi_width(at, end, AGGI_BLOCK);
        if (aggi_blend_columns(job->c, job->blend, at, width, acc))
            job->status[s] = AGGI_NOT_FINITE;
        for (k = 0; k < width; k++) job->c->out[at + k] = (agg_real)acc[k];
    }
}

/* c->out = the blend; it may be the first row of it */
static int aggi_combine(const aggi_call *c, const aggi_blend *blend) {
    aggi_combine_job job;
    job.c = c;
    job.blend = blend;
    aggi_run(c, aggi_combine_run, &job);
    return aggi_any(c, job.status);
}

/* ---- 6 columns ------------------------------------------------------------------------------- */

/* AGGI_COLS coordinates of all rows are sorted together by a network, so that every comparison is a
   vector min and max over the columns. */

/* Batcher's merge exchange; returns the number of comparisons */
static size_t aggi_network(size_t n, aggi_compare *list) {
    size_t top = 1, p, q, r, d, i, count = 0;
    while (top < n) top *= 2;
    for (p = top / 2; p > 0; p /= 2) {
        for (q = top / 2, r = 0, d = p;; d = q - p, q /= 2, r = p) {
            for (i = 0; i + d < n; i++) {
                if ((i & p) != r) continue;
                list[count].low = (uint32_t)i;
                list[count].need = AGGI_LESSER | AGGI_GREATER;
                list[count++].high = (uint32_t)(i + d);
            }
            if (q == p) break;
        }
    }
    return count;
}

/* Takes out of the network what the wanted window [from, to) does not need: results that nothing
   reads, and (ordered == 0) comparisons inside the window that only put it in order. Goes from the
   last comparison to the first; read[i] tells who reads place i further on: 0 nobody, 1 the window
   alone, 2 a comparison. */
static size_t aggi_prune(aggi_compare *list, size_t count, size_t n, size_t from, size_t to,
                         int ordered, uint32_t *read) {
    size_t i, first = count;
    for (i = 0; i < n; i++) read[i] = i >= from && i < to ? 1 : 0;
    for (i = count; i-- > 0;) {
        aggi_compare c = list[i];
        if (!ordered && read[c.low] == 1 && read[c.high] == 1) continue;
        c.need = (read[c.low] ? AGGI_LESSER : 0u) | (read[c.high] ? AGGI_GREATER : 0u);
        if (!c.need) continue;
        read[c.low] = read[c.high] = 2;
        list[--first] = c;
    }
    memmove(list, list + first, (count - first) * sizeof *list);
    return count - first;
}

/* clang-format off */

/* min and max of two vectors vec are vec##_min and vec##_max */
#ifdef AGGI_X86
  typedef agg_real aggi_bytes16 AGGI_VECTOR(16);
  typedef agg_real aggi_bytes32 AGGI_VECTOR(32);
  #ifdef AGG_DOUBLE
    #define aggi_bytes16_min __builtin_ia32_minpd
    #define aggi_bytes16_max __builtin_ia32_maxpd
    #define aggi_bytes32_min __builtin_ia32_minpd256
    #define aggi_bytes32_max __builtin_ia32_maxpd256
  #else
    #define aggi_bytes16_min __builtin_ia32_minps
    #define aggi_bytes16_max __builtin_ia32_maxps
    #define aggi_bytes32_min __builtin_ia32_minps256
    #define aggi_bytes32_max __builtin_ia32_maxps256
  #endif
#else
  typedef agg_real aggi_one;
  #define aggi_one_min(u, v) ((u) < (v) ? (u) : (v))
  #define aggi_one_max(u, v) ((u) > (v) ? (u) : (v))
#endif

/* cols: n x AGGI_COLS. Each comparison writes the lesser, the greater or both. */
#define AGGI_SORT_KERNEL(suffix, attribute, vec)                                                   \
    attribute static void aggi_sort_columns##suffix(agg_real *cols, const aggi_compare *list,      \
                                                    size_t count) {                                \
        const size_t step = sizeof(vec) / sizeof(agg_real);                                        \
        size_t i, l;                                                                               \
        for (i = 0; i < count; i++) {                                                              \
            agg_real *a = cols + list[i].low * AGGI_COLS;                                          \
            agg_real *b = cols + list[i].high * AGGI_COLS;                                         \
            vec u, v, w;                                                                           \
            if (list[i].need == (AGGI_LESSER | AGGI_GREATER)) {                                    \
                for (l = 0; l < AGGI_COLS; l += step) {                                            \
                    AGGI_LOAD(u, a + l);                                                           \
                    AGGI_LOAD(v, b + l);                                                           \
                    w = vec##_min(u, v);                                                           \
                    AGGI_STORE(a + l, w);                                                          \
                    w = vec##_max(v, u);                                                           \
                    AGGI_STORE(b + l, w);                                                          \
                }                                                                                  \
            } else if (list[i].need == AGGI_LESSER) {                                              \
                for (l = 0; l < AGGI_COLS; l += step) {                                            \
                    AGGI_LOAD(u, a + l);                                                           \
                    AGGI_LOAD(v, b + l);                                                           \
                    w = vec##_min(u, v);                                                           \
                    AGGI_STORE(a + l, w);                                                          \
                }                                                                                  \
            } else {                                                                               \
                for (l = 0; l < AGGI_COLS; l += step) {                                            \
                    AGGI_LOAD(u, a + l);                                                           \
                    AGGI_LOAD(v, b + l);                                                           \
                    w = vec##_max(v, u);                                                           \
                    AGGI_STORE(b + l, w);                                                          \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
#if defined(AGGI_X86) && defined(__AVX__)
  AGGI_TWINS(AGGI_SORT_KERNEL, aggi_bytes32, aggi_bytes32)
#elif defined(AGGI_X86)
  AGGI_TWINS(AGGI_SORT_KERNEL, aggi_bytes16, aggi_bytes32)
#else
  AGGI_TWINS(AGGI_SORT_KERNEL, aggi_one, aggi_one)
#endif

/* Copies AGGI_COLS columns of all rows, and adds the rows up in sums, which stay finite only if the
   rows are. */
#define AGGI_GATHER_KERNEL(suffix, attribute, vec)                                                 \
    attribute static void aggi_gather##suffix(const agg_real *const *row, size_t n, size_t at,     \
                                              agg_real *cols, agg_real *sums) {                    \
        size_t i, l;                                                                               \
        for (l = 0; l < AGGI_COLS; l += sizeof(vec) / sizeof(agg_real)) {                          \
            vec v, sum;                                                                            \
            AGGI_LOAD(sum, sums + l);                                                              \
            for (i = 0; i < n; i++) {                                                              \
                AGGI_PREFETCH(row[i] + at + l + 2 * AGGI_COLS);                                    \
                AGGI_LOAD(v, row[i] + at + l);                                                     \
                AGGI_STORE(cols + i * AGGI_COLS + l, v);                                           \
                sum += v;                                                                          \
            }                                                                                      \
            AGGI_STORE(sums + l, sum);                                                             \
        }                                                                                          \
    }
AGGI_TWINS(AGGI_GATHER_KERNEL, aggi_vec, aggi_wide)

/* clang-format on */

/* the last columns of a row, fewer than AGGI_COLS: filled up with zeros */
static void aggi_gather_rest(const agg_real *const *row, size_t n, size_t at, size_t width,
                             agg_real *cols, agg_real *sums) {
    size_t i, l;
    for (i = 0; i < n; i++) {
        for (l = 0; l < AGGI_COLS; l++) {
            cols[i * AGGI_COLS + l] = l < width ? row[i][at + l] : 0;
            sums[l] += cols[i * AGGI_COLS + l];
        }
    }
}

/* Which values of a sorted column are averaged: those in the middle, or those closest to its
   median. */
enum { AGGI_MIDDLE, AGGI_CLOSEST };

/* Mean of the sorted values [from, to) of each column. */
AGGI_INLINE void aggi_mean_of_middle(const agg_real *cols, size_t from, size_t to,
                                     double *AGGI_RESTRICT mean) {
    const agg_real *low = cols + from * AGGI_COLS;
    const double share = 1.0 / (double)(to - from);
    size_t i, l;
    for (l = 0; l < AGGI_COLS; l++) mean[l] = 0;
    for (i = from + 1; i < to; i++)
        for (l = 0; l < AGGI_COLS; l++) mean[l] += (double)cols[i * AGGI_COLS + l] - (double)low[l];
    for (l = 0; l < AGGI_COLS; l++) mean[l] = (double)low[l] + mean[l] * share;
}

/* (a + b) / 2, also where a + b overflows */
AGGI_INLINE double aggi_middle(double a, double b) {
    const double s = a + b;
    return s - s == 0 ? 0.5 * s : 0.5 * a + 0.5 * b;
}

/* Mean of the `keep` sorted values closest to the median: a window of that length holds one value
   of each class modulo keep. In a class go up as long as the next value is closer. Equal distances
   (tie > 0) are for the caller to settle by index. */
AGGI_INLINE void aggi_mean_of_closest(const agg_real *cols, size_t n, size_t keep,
                                      double *AGGI_RESTRICT mean, double *AGGI_RESTRICT tie) {
    double med[AGGI_COLS], off[AGGI_COLS];
    const double share = 1.0 / (double)keep;
    size_t i, j, l;
    for (l = 0; l < AGGI_COLS; l++) {
        med[l] = aggi_middle((double)cols[(n - 1) / 2 * AGGI_COLS + l],
                             (double)cols[n / 2 * AGGI_COLS + l]);
        mean[l] = tie[l] = 0;
    }
    for (i = 0; i < keep; i++) {
        for (l = 0; l < AGGI_COLS; l++) off[l] = (double)cols[i * AGGI_COLS + l] - med[l];
        for (j = i + keep; j < n; j += keep) {
            for (l = 0; l < AGGI_COLS; l++) {
                const double old = off[l], next = (double)cols[j * AGGI_COLS + l] - med[l];
                const double even = -old == next ? 1.0 : 0.0;
                tie[l] += old != next ? even : 0.0;
                off[l] = -old > next ? next : old;
            }
        }
        for (l = 0; l < AGGI_COLS; l++) mean[l] += off[l];
    }
    for (l = 0; l < AGGI_COLS; l++) mean[l] = med[l] + mean[l] * share;
}

/* returns whether some column needs another look: a tie, or a mean that is not finite */
AGGI_INLINE int aggi_window_body(const agg_real *cols, size_t n, size_t keep, int closest,
                                 double *mean, double *tie) {
    size_t l;
    uint64_t any = 0;
    if (closest)
        aggi_mean_of_closest(cols, n, keep, mean, tie);
    else
        aggi_mean_of_middle(cols, (n - keep) / 2, (n + keep) / 2, mean);
    for (l = 0; l < AGGI_COLS && (closest || sizeof(agg_real) > sizeof(float)); l++)
        any |= aggi_bits(mean[l] - mean[l]) | aggi_bits(tie[l]); /* 0, or a NaN; 0, or more */
    return any != 0;
}

#define AGGI_WINDOW_KERNEL(suffix, attribute, vec)                                                 \
    attribute static int aggi_window_mean##suffix(const agg_real *cols, size_t n, size_t keep,     \
                                                  int closest, double *mean, double *tie) {        \
        return aggi_window_body(cols, n, keep, closest, mean, tie);                                \
    }
AGGI_TWINS(AGGI_WINDOW_KERNEL, aggi_vec, aggi_wide)

typedef struct aggi_window_job {
    const aggi_call *c;
    const agg_real *const *row; /* n */
    size_t n, keep;             /* rows, and how many values of a column are averaged */
    int closest;                /* AGGI_CLOSEST or AGGI_MIDDLE */
    size_t comparisons;         /* of the network */
    int status[AGGI_SLICES];
} aggi_window_job;

/* The mean at column `at` of the rows of item[0 .. keep - 1], scaled down if their sum overflows;
   only double builds can meet that. */
static double aggi_safe_mean(const agg_real *const *row, size_t at, const aggi_item *item,
                             size_t keep) {
    double base, sum, scale;
    size_t i;
    for (scale = 1;; scale = aggi_pow2(-3 - aggi_exponent((double)keep))) {
        base = (double)row[item[0].index][at] * scale;
        for (i = 1, sum = 0; i < keep; i++) sum += (double)row[item[i].index][at] * scale - base;
        base += sum / (double)keep;
        if (aggi_finite(base) || scale < 1) return aggi_clamp(base / scale);
    }
}

/* One column the slow way, rows and all: ties go to the lower index, huge numbers do not overflow.
   inside[i]++ for every row inside the window, unless it is NULL. */
static double aggi_window_scalar(const aggi_window_job *job, size_t s, size_t at,
                                 uint64_t *inside) {
    const aggi_columns *g = &job->c->columns;
    const size_t n = job->n, from = job->closest ? 0 : (n - job->keep) / 2;
    double *key = g->key + s * g->n;
    aggi_item *item = g->item + s * 2 * g->n;
    size_t i;
    for (i = 0; i < n; i++) key[i] = (double)job->row[i][at];
    aggi_rank(item, key, n, n);
    if (job->closest) {
        const double median = aggi_middle(item[(n - 1) / 2].key, item[n / 2].key);
        for (i = 0; i < n; i++) key[i] = aggi_abs((double)job->row[i][at] - median);
        aggi_rank(item, key, n, n);
    }
    for (i = from; inside && i < from + job->keep; i++) inside[item[i].index]++;
    return aggi_safe_mean(job->row, at, item + from, job->keep);
}

/* After the kernel: columns with a tie or a mean that is not finite again, one by one; if rows are
   counted, every column. */
static int aggi_window_mend(const aggi_window_job *job, size_t s, size_t at, size_t width,
                            uint64_t *inside, const double *tie, double *mean) {
    size_t l;
    for (l = 0; l < width; l++) {
        const int finite = aggi_finite(mean[l]), special = tie[l] > 0 || !finite;
        double exact;
        if (!finite && !job->c->scanned) return AGGI_NOT_FINITE;
        if (!inside && !special) continue;
        exact = aggi_window_scalar(job, s, at + l, inside);
        if (special) mean[l] = exact;
    }
    return AGG_OK;
}

static int aggi_window_slice(const aggi_window_job *job, size_t s, uint64_t *inside) {
    const aggi_call *c = job->c;
    const size_t n = job->n, end = aggi_slice_begin(c, s + 1);
    agg_real *cols = c->columns.block + s * c->columns.n * AGGI_COLS;
    agg_real sums[AGGI_COLS] = {0}; /* not finite from the first NaN or Inf on */
    double mean[AGGI_COLS], tie[AGGI_COLS] = {0};
    size_t at, l, width;
    int look;
    for (at = aggi_slice_begin(c, s); at < end; at += width) {
        width = aggi_width(at, end, AGGI_COLS);
        if (width == AGGI_COLS)
            AGGI_TWIN(c->avx2, aggi_gather)(job->row, n, at, cols, sums);
        else
            aggi_gather_rest(job->row, n, at, width, cols, sums);
        AGGI_TWIN(c->avx2, aggi_sort_columns)(cols, c->columns.network, job->comparisons);
        look = AGGI_TWIN(c->avx2, aggi_window_mean)(cols, n, job->keep, job->closest, mean, tie);
        if ((look || inside) && aggi_window_mend(job, s, at, width, inside, tie, mean))
            return AGGI_NOT_FINITE;
        for (l = 0; l < width; l++) c->out[at + l] = (agg_real)mean[l];
    }
    for (l = 0; l < AGGI_COLS; l++)
        if (!aggi_finite((double)sums[l]) && !c->scanned) return AGGI_NOT_FINITE;
    return AGG_OK;
}

static void aggi_window_run(void *arg, size_t s) {
    aggi_window_job *job = (aggi_window_job *)arg;
    const aggi_columns *g = &job->c->columns;
    uint64_t *inside = job->c->report.weight ? g->inside + s * g->n : NULL;
    if (inside) memset(inside, 0, job->n * sizeof *inside);
    job->status[s] = aggi_window_slice(job, s, inside);
}

/* c->out = per column the mean of `keep` of the n values: the middle ones, or those closest to the
   median. c->weight = the shares of the rows, averaged over the columns, if they are reported. */
static int aggi_window(const aggi_call *c, const agg_real *const *row, size_t n, size_t keep,
                       int closest) {
    const aggi_columns *g = &c->columns;
    const size_t trim = closest ? 0 : (n - keep) / 2, count = aggi_network(n, g->network);
    aggi_window_job job;
    size_t i, s;
    job.c = c;
    job.row = row;
    job.n = n;
    job.keep = keep;
    job.closest = closest;
    job.comparisons = aggi_prune(g->network, count, n, trim, n - trim, closest, g->read);
    aggi_run(c, aggi_window_run, &job);
    if (aggi_any(c, job.status)) return AGGI_NOT_FINITE;
    for (i = 0; c->report.weight && i < n; i++) {
        uint64_t inside = 0;
        for (s = 0; s < c->slices; s++) inside += g->inside[s * g->n + i];
        c->weight[i] = (double)inside / (double)c->dim / (double)keep;
    }
    return AGG_OK;
}

/* ---- 7 MDA ----------------------------------------------------------------------------------- */

/* A set has diameter <= r if no two of its rows are joined in the graph of pairs farther than r; so
   it is what a vertex cover of that graph leaves out. The least diameter is found by bisection over
   the distances that occur: each step asks aggi_find_cover() whether f rows cover the graph. */

/* open neighbours of row v */
static size_t aggi_degree(const aggi_cover *g, size_t v) {
    const uint64_t *row = g->edge + v * g->words;
    size_t w, sum = 0;
    for (w = 0; w < g->words; w++) sum += aggi_popcount(row[w] & g->open[w]);
    return sum;
}

/* counts the degrees and edges of the open rows anew */
static void aggi_count_edges(aggi_cover *g) {
    size_t v, sum = 0;
    for (v = 0; v < g->n; v++) {
        g->degree[v] = aggi_has(g->open, v) ? aggi_degree(g, v) : 0;
        sum += g->degree[v];
    }
    g->edges = sum / 2;
}

/* row v goes into the cover: its edges are no longer open */
static void aggi_cover_row(aggi_cover *g, size_t v) {
    const uint64_t *row = g->edge + v * g->words;
    size_t w;
    aggi_remove(g->open, v);
    aggi_insert(g->cover, v);
    g->left--;
    for (w = 0; w < g->words; w++) {
        uint64_t u = row[w] & g->open[w];
        for (; u; u &= u - 1) g->degree[w * 64 + aggi_lowest(u)]--;
    }
    g->edges -= g->degree[v];
    g->degree[v] = 0;
}

static size_t aggi_first_neighbour(const aggi_cover *g, size_t v) {
    const uint64_t *row = g->edge + v * g->words;
    size_t w = 0;
    while (!(row[w] & g->open[w])) w++;
    return w * 64 + aggi_lowest(row[w] & g->open[w]);
}

/* v stays outside the cover, so its neighbours go in; 0: there are too many */
static int aggi_cover_neighbours(aggi_cover *g, size_t v) {
    while (g->degree[v]) {
        if (!g->left) return 0;
        aggi_cover_row(g, aggi_first_neighbour(g, v));
    }
    return 1;
}

/* One pass over the open rows. A row with more neighbours than may still be covered must be in the
   cover itself; of a row with one neighbour, that one may as well be. Returns 1 if a row was
   decided, 0 if none, -1 if there are too many; widest = the row of most neighbours. */
static int aggi_reduce_once(aggi_cover *g, size_t *widest) {
    size_t w, v;
    int decided = 0;
    *widest = g->n;
    for (w = 0; w < g->words; w++) {
        uint64_t u = g->open[w];
        for (; u; u &= u - 1) {
            v = w * 64 + aggi_lowest(u);
            if (g->degree[v] > g->left || g->degree[v] == 1) {
                if (!g->left) return -1;
                aggi_cover_row(g, g->degree[v] == 1 ? aggi_first_neighbour(g, v) : v);
                decided = 1;
            } else if (g->degree[v] && (*widest == g->n || g->degree[v] > g->degree[*widest])) {
                *widest = v;
            }
        }
    }
    return decided;
}

/* Decides what can be decided without loss. With no degree above 2 only cycles are left, where any
   row may start. Returns 0 if the rows left do not suffice. */
static int aggi_reduce(aggi_cover *g, size_t *widest) {
    while (g->edges) {
        const int decided = aggi_reduce_once(g, widest);
        if (decided < 0) return 0;
        if (decided) continue;
        if (g->degree[*widest] > 2) break;
        aggi_cover_row(g, *widest);
    }
    return 1;
}

/* Can the rows left, if they have the highest degrees, touch all edges? */
static int aggi_degree_bound(aggi_cover *g) {
    size_t d, v, left = g->left, sum = 0;
    memset(g->tally, 0, (g->n + 1) * sizeof *g->tally);
    for (v = 0; v < g->n; v++) g->tally[g->degree[v]]++;
    for (d = g->n; d-- > 1 && left;) {
        const size_t use = g->tally[d] < left ? g->tally[d] : left;
        sum += use * d;
        left -= use;
    }
    return sum >= g->edges;
}

/* Takes a clique around v out of g->rest, row after row. Returns its rows beside v; stops when
   there are more than `most`. */
static size_t aggi_take_clique(aggi_cover *g, size_t v, size_t most) {
    const size_t words = g->words;
    size_t x, y, u, count = 0;
    for (x = v / 64; x < words; x++) g->common[x] = g->edge[v * words + x] & g->rest[x];
    for (x = v / 64; x < words; x++) {
        while (g->common[x]) {
            u = x * 64 + aggi_lowest(g->common[x]);
            aggi_remove(g->rest, u);
            if (++count > most) return count;
            for (y = x; y < words; y++) g->common[y] &= g->edge[u * words + y];
        }
    }
    return count;
}

/* Disjoint cliques: a cover needs all rows of each but one. Do the rows left suffice? */
static int aggi_clique_bound(aggi_cover *g) {
    size_t w, need = 0;
    memcpy(g->rest, g->open, g->words * sizeof *g->rest);
    for (w = 0; w < g->words; w++) {
        while (g->rest[w]) {
            const size_t v = w * 64 + aggi_lowest(g->rest[w]);
            g->rest[w] &= g->rest[w] - 1;
            need += aggi_take_clique(g, v, g->left - need);
            if (need > g->left) return 0;
        }
    }
    return 1;
}

/* A branch of the search: what was open, covered and left. */
static uint64_t *aggi_branch(const aggi_cover *g, size_t depth) {
    return g->stack + depth * (2 * g->words + 1);
}

static void aggi_push(aggi_cover *g, size_t depth) {
    uint64_t *top = aggi_branch(g, depth);
    memcpy(top, g->open, g->words * sizeof *top);
    memcpy(top + g->words, g->cover, g->words * sizeof *top);
    top[2 * g->words] = (uint64_t)g->left;
}

static void aggi_pop(aggi_cover *g, size_t depth) {
    const uint64_t *top = aggi_branch(g, depth);
    memcpy(g->open, top, g->words * sizeof *top);
    memcpy(g->cover, top + g->words, g->words * sizeof *top);
    g->left = (size_t)top[2 * g->words];
    aggi_count_edges(g);
}

/* Back to the last branch: now its widest row stays out of the cover and its neighbours go in.
   There is room for them: aggi_reduce() leaves no row with more neighbours than may be covered.
   Returns 0 if there is no branch left. */
static int aggi_other_side(aggi_cover *g, size_t *depth) {
    size_t v, widest = 0;
    if (!*depth) return 0;
    aggi_pop(g, --*depth);
    for (v = 1; v < g->n; v++)
        if (g->degree[v] > g->degree[widest]) widest = v;
    return aggi_cover_neighbours(g, widest);
}

/* Depth first: the row of most neighbours goes into the cover, or else all its neighbours do. The
   stack has one branch for each row of the cover, at most f. Goes on from where g is. Returns 1:
   yes, g->cover is one; 0: there is none; -1: the budget ran out. */
static int aggi_find_cover(aggi_cover *g) {
    size_t depth = 0, widest = 0;
    for (;;) {
        int possible;
        if (g->nodes >= g->budget) return -1;
        g->nodes++;
        possible = aggi_reduce(g, &widest);
        if (possible && !g->edges) return 1;
        if (possible && aggi_degree_bound(g) && aggi_clique_bound(g)) {
            aggi_push(g, depth++);
            aggi_cover_row(g, widest);
        } else if (!aggi_other_side(g, &depth)) {
            return 0;
        }
    }
}

/* the graph of pairs farther than r (an entry of the matrix) */
static void aggi_far_graph(aggi_call *c, double r) {
    aggi_cover *g = &c->cover;
    size_t i, j, w;
    for (i = 0; i < g->n; i++) {
        const double *row = c->pairs.entry + i * g->n;
        g->full_degree[i] = 0;
        for (w = 0; w < g->words; w++) {
            const size_t end = aggi_width(w * 64, g->n, 64);
            uint64_t joined = 0;
            for (j = 0; j < end; j++) joined |= (uint64_t)(row[w * 64 + j] > r) << j;
            g->edge[i * g->words + w] = joined;
            g->full_degree[i] += aggi_popcount(joined);
        }
    }
}

/* every row open, none covered, f to cover */
static void aggi_cover_start(aggi_cover *g) {
    size_t i, sum = 0;
    memset(g->open, 0xff, g->words * sizeof *g->open);
    if (g->n % 64) g->open[g->words - 1] = ((uint64_t)1 << g->n % 64) - 1;
    memset(g->cover, 0, g->words * sizeof *g->cover);
    g->left = g->f;
    for (i = 0; i < g->n; i++) {
        g->degree[i] = g->full_degree[i];
        sum += g->degree[i];
    }
    g->edges = sum / 2;
}

/* Is there a set of n-f rows that has row i and all of g->taken, rows before i that go together?
   Returns as aggi_find_cover(); if yes, i is taken and g->outside is what that set leaves out. */
static int aggi_take_row(aggi_cover *g, size_t i) {
    size_t w;
    int found = 1;
    aggi_insert(g->taken, i);
    aggi_cover_start(g);
    for (w = 0; w < g->words; w++) {
        uint64_t u = g->taken[w];
        for (; u; u &= u - 1) { /* only the last, i itself, can fail */
            const size_t v = w * 64 + aggi_lowest(u);
            found = !aggi_has(g->cover, v) && aggi_cover_neighbours(g, v);
        }
    }
    if (found) found = aggi_find_cover(g);
    if (found > 0)
        memcpy(g->outside, g->cover, g->words * sizeof *g->outside);
    else
        aggi_remove(g->taken, i);
    return found;
}

/* The lexicographically first set: row after row is taken if a set with it and all rows taken
   before exists. The set that g->outside leaves proves it for its own rows, the others are asked
   for. Returns 0 if the budget ran out. */
static int aggi_first_set(aggi_cover *g) {
    size_t i, w, count = 0;
    memset(g->taken, 0, g->words * sizeof *g->taken);
    for (i = 0; i < g->n && count < g->n - g->f; i++) {
        const int found = aggi_has(g->outside, i) ? aggi_take_row(g, i) : 1;
        if (found < 0) return 0;
        if (!found) continue;
        aggi_insert(g->taken, i);
        count++;
    }
    for (w = 0; w < g->words; w++) g->outside[w] = ~g->taken[w];
    return 1;
}

/* largest entry among the rows of g->chosen */
static double aggi_diameter(const aggi_call *c, size_t count) {
    const size_t *chosen = c->cover.chosen;
    double most = 0;
    size_t i, j;
    for (i = 0; i < count; i++)
        for (j = i + 1; j < count; j++)
            most = aggi_max(most, c->pairs.entry[chosen[i] * c->n + chosen[j]]);
    return most;
}

static void aggi_cover_begin(aggi_call *c) {
    aggi_cover *g = &c->cover;
    g->n = c->n;
    g->f = c->f;
    g->words = AGGI_WORDS(c->n);
    g->nodes = 0;
    g->budget = aggi_budget(c->desc);
}

/* Starts with the smallest ball of n-f rows as the best set. Its diameter is the first upper bound,
   which is returned, its radius a lower one. */
static double aggi_mda_ball(aggi_call *c, double *least) {
    aggi_cover *g = &c->cover;
    const size_t keep = c->n - c->f;
    size_t i;
    aggi_best_ball(c, keep, least);
    memset(g->outside, 0xff, g->words * sizeof *g->outside);
    for (i = 0; i < keep; i++) {
        g->chosen[i] = c->item[i].index;
        aggi_remove(g->outside, g->chosen[i]);
    }
    return aggi_diameter(c, keep);
}

/* g->radius = the distances in [least, most) that occur, ascending, each once; returns how many */
static size_t aggi_mda_radii(aggi_call *c, double least, double most) {
    aggi_item *radius = c->cover.radius;
    size_t i, j, count = 0, once = 0;
    for (i = 0; i < c->n; i++) {
        for (j = i + 1; j < c->n; j++) {
            const double r = c->pairs.entry[i * c->n + j];
            if (!(r >= least && r < most)) continue;
            radius[count].index = 0;
            radius[count++].key = r;
        }
    }
    aggi_sort(radius, count);
    for (i = 0; i < count; i++)
        if (!i || radius[i].key > radius[once - 1].key) radius[once++] = radius[i];
    return once;
}

/* The least diameter is one of the radii, or `most` if none will do. g->outside gets its set. */
static int aggi_mda_bisect(aggi_call *c, size_t radii, double *most) {
    aggi_cover *g = &c->cover;
    size_t low = 0, high = radii;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        int found;
        aggi_far_graph(c, g->radius[middle].key);
        aggi_cover_start(g);
        found = aggi_find_cover(g);
        if (found < 0) return AGG_INEXACT;
        if (!found) {
            low = middle + 1;
            continue;
        }
        high = middle;
        *most = g->radius[middle].key;
        memcpy(g->outside, g->cover, g->words * sizeof *g->outside);
    }
    return AGG_OK;
}

static int aggi_mda(aggi_call *c) {
    aggi_cover *g = &c->cover;
    const size_t keep = c->n - c->f;
    double least, most, root;
    size_t i, count = 0;
    int status = aggi_find_pairs(c, 0);
    if (status) return status;
    aggi_cover_begin(c);
    most = aggi_mda_ball(c, &least);
    status = aggi_mda_bisect(c, aggi_mda_radii(c, least, most), &most);
    aggi_far_graph(c, most);
    if (status == AGG_OK && !aggi_first_set(g)) status = AGG_INEXACT;
    for (i = 0; i < c->n && count < keep; i++)
        if (!aggi_has(g->outside, i)) g->chosen[count++] = i;
    aggi_choose(c, g->chosen, keep);
    root = aggi_pair_root(&c->pairs, aggi_diameter(c, keep));
    c->report.diameter = aggi_min(root * root, DBL_MAX);
    c->report.nodes = g->nodes;
    return status;
}

/* ---- 8 CWTM, MeaMed, CWMed, Krum, Multi-Krum ------------------------------------------------- */

static int aggi_cwtm(aggi_call *c) {
    return aggi_window(c, c->x, c->n, c->n - 2 * c->f, AGGI_MIDDLE);
}

static int aggi_meamed(aggi_call *c) {
    return aggi_window(c, c->x, c->n, c->n - c->f, AGGI_CLOSEST);
}

static int aggi_cwmed(aggi_call *c) {
    return aggi_window(c, c->x, c->n, c->n % 2 ? 1 : 2, AGGI_MIDDLE);
}

/* Sum of squared distances of row i to its nearest `neighbours` others; rows with gone[j] are left
   out (gone == NULL: none). If the matrix has roots: the fourth root of that. */
static double aggi_krum_score(aggi_call *c, size_t i, size_t neighbours, const int *gone) {
    const double *row = c->pairs.entry + i * c->n;
    const aggi_item *item = c->item;
    double most, sum = 0;
    size_t j, others = 0;
    for (j = 0; j < c->n; j++)
        if (j != i && !(gone && gone[j])) c->key[others++] = row[j];
    aggi_rank(c->item, c->key, others, others);
    if (!c->pairs.roots || !neighbours) {
        for (j = 0; j < neighbours; j++) sum += item[j].key;
        return sum;
    }
    most = item[neighbours - 1].key;
    for (j = 0; j < neighbours && most > 0; j++)
        sum += aggi_pair_square(&c->pairs, item[j].key, most);
    return most * aggi_root0(aggi_root0(sum));
}

/* of so many candidates: candidates - f - 1, classic - f - 2 */
static size_t aggi_neighbours(const aggi_call *c, size_t candidates) {
    const size_t less = c->f + 1 + (c->desc->classic_krum ? 1 : 0);
    return candidates > less ? candidates - less : 0;
}

/* the q rows of least score */
static int aggi_best_scores(aggi_call *c, size_t q) {
    const size_t neighbours = aggi_neighbours(c, c->n);
    size_t i;
    const int status = aggi_find_pairs(c, 0);
    if (status) return status;
    for (i = 0; i < c->n; i++) c->pairs.score[i] = aggi_krum_score(c, i, neighbours, NULL);
    aggi_rank(c->item, c->pairs.score, c->n, c->n);
    aggi_choose_ranked(c, q);
    return AGG_OK;
}

static int aggi_krum(aggi_call *c) { return aggi_best_scores(c, 1); }

static int aggi_multi_krum(aggi_call *c) {
    return aggi_best_scores(c, aggi_or(c->desc->q, c->n - c->f));
}

/* ---- 9 GM ------------------------------------------------------------------------------------ */

/* The median lies in the affine hull of the rows, so everything but the result itself can be had
   from their squared distances: for z = sum_i w_i x_i with sum w = 1,
       d_j^2 = ||z - x_j||^2 = sum_i w_i square_ij - 1/2 sum_ik w_i w_k square_ik.
   The solver works on w with these, n^2 a step; then a dual bound proves in the space of the rows
   how good the point is. The unit of distances is the radius of the smallest ball of a majority. */

/* d = distances of the point w from the rows; returns their sum, the value to minimise */
static double aggi_gm_value(const aggi_gm *g, const double *w, double *d) {
    const size_t n = g->n;
    double half = 0, value = 0;
    size_t i, j;
    for (j = 0; j < n; j++) {
        double q = 0;
        for (i = 0; i < n; i++) q += w[i] * g->square[j * n + i];
        d[j] = q;
        half += 0.5 * w[j] * q;
    }
    for (j = 0; j < n; j++) {
        d[j] = aggi_root0(d[j] - half);
        value += d[j];
    }
    return value;
}

/* The rows as seen from z: cosine_ij = u_i.u_j with u_i = (x_i - z)/d_i. A row at z is seen in no
   direction: zeros. */
static void aggi_gm_cosines(aggi_gm *g) {
    const size_t n = g->n;
    const double *m = g->square, *d = g->d;
    size_t i, j;
    for (i = 0; i < n; i++) {
        for (j = 0; j < n; j++) {
            const double v = d[i] > 0 && d[j] > 0
                                 ? (d[i] / d[j] + d[j] / d[i] - m[i * n + j] / d[i] / d[j]) / 2
                                 : 0;
            g->cosine[i * n + j] = i == j ? d[i] > 0 : aggi_max(-1, aggi_min(v, 1));
        }
    }
}

/* out = cosine a; returns a.cosine a = ||sum_j a_j u_j||^2 */
static double aggi_gm_apply(const aggi_gm *g, const double *a, double *out) {
    const size_t n = g->n;
    double dot = 0;
    size_t i, j;
    for (i = 0; i < n; i++) {
        double sum = 0;
        for (j = 0; j < n; j++) sum += g->cosine[i * n + j] * a[j];
        out[i] = sum;
        dot += a[i] * sum;
    }
    return dot;
}

/* Rows close to z count as at z: each may cancel a length of 1 of r = sum_j u_j, the gradient is
   -r. That costs twice its distance in the bound; so the closest are taken, as far as gap/8 of the
   value reaches. Returns the largest distance that is close. */
static double aggi_gm_close(const aggi_gm *g, double value) {
    const double *d = g->d;
    double close = 0, spent = 0;
    size_t i;
    for (;;) {
        double next = aggi_infinity(), count = 0;
        for (i = 0; i < g->n; i++)
            if (d[i] > close && d[i] < next) next = d[i];
        for (i = 0; i < g->n; i++) count += d[i] > close && d[i] <= next;
        spent += count * next;
        if (!(spent <= g->gap / 8 * value)) return close;
        close = next;
    }
}

/* Is the gradient small enough? Sets step_j = 1 for the rows that are not close. */
static int aggi_gm_solved(aggi_gm *g, double close) {
    double at = 0, r;
    size_t j;
    for (j = 0; j < g->n; j++) {
        g->step[j] = g->d[j] > close ? 1 : 0;
        at += 1 - g->step[j];
    }
    r = aggi_root0(aggi_gm_apply(g, g->step, g->cg));
    return aggi_max(0, r - at) / (double)g->n <= g->gap / 16;
}

/* H s, H = sum_j (1 - u_j u_j^T)/d_j, component i: inverse is sum_j 1/d_j, cs = cosine s */
AGGI_INLINE double aggi_gm_hessian(const aggi_gm *g, double inverse, const double *s,
                                   const double *cs, size_t i) {
    return inverse * s[i] - (g->d[i] > 0 ? cs[i] / g->d[i] : 0);
}

/* Conjugate gradients on H p = r with p = sum_j p_j u_j, r = sum_j u_j. Beside each vector its
   product with the cosines is kept. Returns the number of steps. */
static size_t aggi_gm_conjugate(aggi_gm *g, double inverse, double *p) {
    const size_t n = g->n;
    double *r = g->cg, *cr = r + n, *s = r + 2 * n, *cs = r + 3 * n, rr, first;
    size_t i, t;
    for (i = 0; i < n; i++) {
        p[i] = 0;
        r[i] = s[i] = g->d[i] > 0;
    }
    rr = first = aggi_gm_apply(g, r, cr);
    memcpy(cs, cr, n * sizeof *cs);
    for (t = 0; t < 40 && rr > 1e-14 * first; t++) {
        double shs = 0, by, next;
        for (i = 0; i < n; i++) shs += aggi_gm_hessian(g, inverse, s, cs, i) * cs[i];
        if (!(shs > 0)) break;
        by = rr / shs;
        for (i = 0; i < n; i++) {
            p[i] += by * s[i];
            r[i] -= by * aggi_gm_hessian(g, inverse, s, cs, i);
        }
        next = aggi_gm_apply(g, r, cr);
        for (i = 0; i < n; i++) {
            s[i] = r[i] + next / rr * s[i];
            cs[i] = cr[i] + next / rr * cs[i];
        }
        rr = next;
    }
    return t;
}

static double aggi_gm_inverse_sum(const aggi_gm *g) {
    double sum = 0;
    size_t i;
    for (i = 0; i < g->n; i++) sum += g->d[i] > 0 ? 1 / g->d[i] : 0;
    return sum;
}

/* Newton's step p as weights: step_j = p_j/d_j, so that z + p = z + sum_j step_j (x_j - z). Returns
   0 if there is no such step. */
static int aggi_gm_newton(aggi_gm *g) {
    const size_t steps = aggi_gm_conjugate(g, aggi_gm_inverse_sum(g), g->step);
    size_t i;
    for (i = 0; i < g->n; i++) g->step[i] = g->d[i] > 0 ? g->step[i] / g->d[i] : 0;
    return steps > 0;
}

/* to = the weights of z + by p */
static void aggi_gm_move(const aggi_gm *g, double by, double *to) {
    const double sum = aggi_sum(g->step, g->n);
    size_t i;
    for (i = 0; i < g->n; i++) to[i] = g->w[i] * (1 - by * sum) + by * g->step[i];
}

/* Weiszfeld's point sum_j x_j/d_j / sum_j 1/d_j */
static void aggi_gm_weiszfeld(const aggi_gm *g, double *w) {
    const double sum = aggi_gm_inverse_sum(g);
    size_t i;
    for (i = 0; i < g->n; i++) w[i] = g->d[i] > 0 ? 1 / g->d[i] / sum : 0;
}

/* the point tried becomes the point */
static void aggi_gm_accept(aggi_gm *g) {
    memcpy(g->w, g->try_w, g->n * sizeof *g->w);
    memcpy(g->d, g->try_d, g->n * sizeof *g->d);
}

/* Starts at the row of least value: if the optimum is at a row it is this one. */
static double aggi_gm_best_row(aggi_gm *g, size_t *best) {
    const size_t n = g->n;
    double value = 0;
    size_t i, j;
    for (i = 0; i < n; i++) {
        double sum = 0;
        for (j = 0; j < n; j++) sum += aggi_root0(g->square[i * n + j]);
        if (i && !(sum < value)) continue;
        value = sum;
        *best = i;
    }
    for (j = 0; j < n; j++) {
        g->w[j] = j == *best;
        g->d[j] = aggi_root0(g->square[*best * n + j]);
    }
    return value;
}

/* Leaves the row of least value, if it is not the optimum, towards Weiszfeld's point of the other
   rows; how far, the value decides, from Vardi and Zhang's step upwards. Other rows close to it
   count as at it: their 1/distance would keep every step short. Returns 0 if it is the optimum. */
static int aggi_gm_leave_row(aggi_gm *g, size_t best, double *value) {
    const double close = aggi_gm_close(g, *value);
    double here = 0, r, by;
    size_t j, h;
    for (j = 0; j < g->n; j++) {
        if (g->d[j] > close) continue;
        g->d[j] = 0;
        here += 1;
    }
    aggi_gm_cosines(g);
    if (aggi_gm_solved(g, 0)) return 0;
    r = aggi_root0(aggi_gm_apply(g, g->step, g->cg));
    aggi_gm_weiszfeld(g, g->step);
    for (h = 0, by = 1 - aggi_min(1, here / r); h < 64 && by < 64; h++, by *= 2) {
        double try_value;
        for (j = 0; j < g->n; j++) g->try_w[j] = by * g->step[j];
        g->try_w[best] += 1 - by;
        try_value = aggi_gm_value(g, g->try_w, g->try_d);
        if (h && !(try_value < *value)) continue;
        *value = try_value;
        aggi_gm_accept(g);
    }
    return 1;
}

/* One step down: Newton's, halved until it gains, or else Weiszfeld's. Returns 0 if no step gains
   anything: the rest is rounding. */
static int aggi_gm_descend(aggi_gm *g, double *value) {
    double by = aggi_gm_newton(g) ? 1 : 0, try_value = *value;
    size_t h;
    for (h = 0; h < 12 && by > 0; h++, by *= 0.5) {
        aggi_gm_move(g, by, g->try_w);
        try_value = aggi_gm_value(g, g->try_w, g->try_d);
        if (try_value < *value) break;
    }
    if (!(try_value < *value)) {
        aggi_gm_weiszfeld(g, g->try_w);
        try_value = aggi_gm_value(g, g->try_w, g->try_d);
        if (!(try_value < *value)) return 0;
    }
    *value = try_value;
    aggi_gm_accept(g);
    return 1;
}

/* Minimises over w, on distances alone; leaves w and d. */
static void aggi_gm_solve(aggi_gm *g) {
    size_t best = 0, t;
    double value = aggi_gm_best_row(g, &best);
    if (!aggi_gm_leave_row(g, best, &value)) return;
    for (t = 0; t < 500; t++) {
        aggi_gm_cosines(g);
        if (aggi_gm_solved(g, aggi_gm_close(g, value)) || !aggi_gm_descend(g, &value)) return;
    }
}

/* (s_i (x_i - x_o)).(s_j (x_j - x_o)) lift^2; lift is 1, or for a ball among denormal doubles what
   keeps s within range */
static double aggi_gm_dot(const aggi_call *c, size_t i, size_t j, size_t o, double lift) {
    const agg_real *x = c->x[i], *y = c->x[j], *z = c->x[o];
    const double unit = c->gm.unit, si = c->gm.pull[i] / (unit * lift) / unit,
                 sj = c->gm.pull[j] / (unit * lift) / unit;
    double lane[8] = {0};
    if (c->pairs.wide && lift == 1)
        AGGI_ADD_IN_LANES(lane, 8, c->dim, k,
                          ((double)x[k] * si - (double)z[k] * si) *
                              ((double)y[k] * sj - (double)z[k] * sj));
    else
        AGGI_ADD_IN_LANES(lane, 8, c->dim, k,
                          ((double)x[k] - (double)z[k]) * lift * si *
                              (((double)y[k] - (double)z[k]) * lift * sj));
    return aggi_sum8(lane);
}

/* Rows beyond AGGI_FAR radii are pulled in to that distance: their direction is all that matters,
   and their squares would drown the others. pull_i <= 1: by how much; 0: so far that no weight is
   small enough, left at the centre. reach_i: the distance from the centre after that. */
static void aggi_gm_pull(const aggi_call *c, size_t center) {
    const aggi_gm *g = &c->gm;
    size_t i;
    for (i = 0; i < g->n; i++) {
        const double root = aggi_pair_root(&c->pairs, c->pairs.entry[center * g->n + i]);
        const double away = aggi_ratio(root, g->unit);
        g->pull[i] = away > 1e280 ? 0 : away > AGGI_FAR ? AGGI_FAR / away : 1;
        g->reach[i] = g->pull[i] > 0 ? away * g->pull[i] : 0;
    }
}

/* g->square = squared distances of the rows, pulled in, in units of the ball's radius */
static void aggi_gm_squares(aggi_call *c, size_t center, double radius) {
    aggi_gm *g = &c->gm;
    const double lift = g->unit < 1e-150 ? aggi_pow2(600) : 1;
    const size_t n = g->n;
    size_t i, j;
    aggi_gm_pull(c, center);
    for (i = 0; i < n; i++) {
        g->square[i * n + i] = 0;
        for (j = i + 1; j < n; j++) {
            double v = aggi_pair_square(&c->pairs, c->pairs.entry[i * n + j], radius);
            if (g->pull[i] < 1 || g->pull[j] < 1)
                v = aggi_max(0, aggi_squared(g->reach[i]) + aggi_squared(g->reach[j]) -
                                    2 * aggi_gm_dot(c, i, j, center, lift));
            g->square[i * n + j] = g->square[j * n + i] = v;
        }
    }
}

/* The proof, in the space of the rows. Any y with |y_i| <= 1 and sum y = 0 gives the lower bound
   sum_i y_i.(x_i - z) on the least value. With u_i = (x_i - z) inverse_i, inverse_i being about
   1/distance, and r = sum u: rows close to z have inverse_i = 0 and take what they can of -r; the m
   others have y_i = u_i - rest/m, rest being what is left of r, all shrunk by the longest of them.
   Pass 1 makes z, the distances and r at once; with inverse from the solver that mostly is enough.
   If not, pass 2 does r again with the true distances, and pass 3 gets u_i.r and so the true
   lengths of y. Row i has a unit of its own, scale_i, so that its squares fit a double. */

/* ||(x - z) / unit||^2, unit being a power of two */
AGGI_INLINE double aggi_gm_square_body(const agg_real *x, const double *z, size_t width,
                                       double unit) {
    const double scale = 1 / unit;
    double lane[8] = {0};
    if (unit == 1)
        AGGI_ADD_IN_LANES(lane, 8, width, k, aggi_squared((double)x[k] - z[k]));
    else
        AGGI_ADD_IN_LANES(lane, 8, width, k, aggi_squared((double)x[k] * scale - z[k] * scale));
    return aggi_sum8(lane);
}

/* r += u (x - z) / unit */
AGGI_INLINE void aggi_gm_direction_body(const agg_real *AGGI_RESTRICT x,
                                        const double *AGGI_RESTRICT z, size_t width, double unit,
                                        double u, double *AGGI_RESTRICT r) {
    const double scale = 1 / unit;
    size_t k;
    if (unit == 1)
        for (k = 0; k < width; k++) r[k] += ((double)x[k] - z[k]) * u;
    else
        for (k = 0; k < width; k++) r[k] += ((double)x[k] * scale - z[k] * scale) * u;
}

#define AGGI_GM_KERNELS(suffix, attribute, vec)                                                    \
    attribute static double aggi_gm_square##suffix(const agg_real *x, const double *z,             \
                                                   size_t width, double unit) {                    \
        return aggi_gm_square_body(x, z, width, unit);                                             \
    }                                                                                              \
    attribute static void aggi_gm_direction##suffix(                                               \
        const agg_real *x, const double *z, size_t width, double unit, double u, double *r) {      \
        aggi_gm_direction_body(x, z, width, unit, u, r);                                           \
    }
AGGI_TWINS(AGGI_GM_KERNELS, aggi_vec, aggi_wide)

/* Coordinates [at, at + width) of z and of r; where squares is not NULL, squares[i] += those of
   (x_i - z) / scale_i. */
static void aggi_gm_block(const aggi_call *c, size_t at, size_t width, double *z, double *r,
                          double *squares) {
    const aggi_gm *g = &c->gm;
    const aggi_blend blend = aggi_result(c);
    const int avx2 = c->avx2;
    size_t i;
    (void)aggi_blend_columns(c, &blend, at, width, z);
    memset(r, 0, width * sizeof *r);
    for (i = 0; i < g->n; i++) {
        const agg_real *x = c->x[i] + at;
        const double unit = g->scale[i];
        if (squares)
            squares[i] += AGGI_TWIN_OF_LANES(avx2, width, aggi_gm_square)(x, z, width, unit);
        AGGI_TWIN(avx2, aggi_gm_direction)(x, z, width, unit, g->inverse[i], r);
    }
}

/* part: n squared distances, then ||r||^2; c->out = z */
static void aggi_gm_pass1(void *arg, size_t s) {
    const aggi_call *c = (const aggi_call *)arg;
    const size_t n = c->n, end = aggi_slice_begin(c, s + 1);
    double *sum = c->part + s * (n + 1), z[AGGI_BLOCK], r[AGGI_BLOCK];
    size_t at, width, k;
    memset(sum, 0, (n + 1) * sizeof *sum);
    for (at = aggi_slice_begin(c, s); at < end; at += width) {
        width = aggi_width(at, end, AGGI_BLOCK);
        aggi_gm_block(c, at, width, z, r, sum);
        for (k = 0; k < width; k++) {
            c->out[at + k] = (agg_real)z[k];
            sum[n] += r[k] * r[k];
        }
    }
}

/* part: ||r||^2 */
static void aggi_gm_pass2(void *arg, size_t s) {
    const aggi_call *c = (const aggi_call *)arg;
    const size_t end = aggi_slice_begin(c, s + 1);
    double total = 0, z[AGGI_BLOCK], r[AGGI_BLOCK];
    size_t at, width, k;
    for (at = aggi_slice_begin(c, s); at < end; at += width) {
        width = aggi_width(at, end, AGGI_BLOCK);
        aggi_gm_block(c, at, width, z, r, NULL);
        for (k = 0; k < width; k++) total += r[k] * r[k];
    }
    c->part[s] = total;
}

/* part: n times (x_i - z).r / scale_i */
static void aggi_gm_pass3(void *arg, size_t s) {
    const aggi_call *c = (const aggi_call *)arg;
    const size_t n = c->n, end = aggi_slice_begin(c, s + 1);
    double *dot = c->part + s * n, z[AGGI_BLOCK], r[AGGI_BLOCK];
    size_t at, width, i, k;
    memset(dot, 0, n * sizeof *dot);
    for (at = aggi_slice_begin(c, s); at < end; at += width) {
        width = aggi_width(at, end, AGGI_BLOCK);
        aggi_gm_block(c, at, width, z, r, NULL);
        for (i = 0; i < n; i++) {
            const double scale = 1 / c->gm.scale[i];
            for (k = 0; k < width; k++)
                dot[i] += ((double)c->x[i][at + k] * scale - z[k] * scale) * r[k];
        }
    }
}

/* the unit of row i, in that of the ball */
static double aggi_gm_unit(const aggi_gm *g, size_t i) {
    return aggi_min(aggi_ratio(aggi_root0(g->scale[i]), g->unit), 1e290);
}

/* inverse_i = 1/d_i in units of scale_i, 0 for rows close to z; returns the number of the others */
static double aggi_gm_invert(aggi_gm *g, double close) {
    double m = 0;
    size_t i;
    for (i = 0; i < g->n; i++) {
        g->inverse[i] = g->d[i] > close ? aggi_gm_unit(g, i) / g->d[i] : 0;
        m += g->inverse[i] > 0;
    }
    return m;
}

/* The bound when ||u_i|| <= longest and ||r|| = r. */
static double aggi_gm_bound(const aggi_gm *g, double r, double longest) {
    double least = 0, m = 0, rest, sum = 0;
    size_t i;
    for (i = 0; i < g->n; i++) {
        m += g->inverse[i] > 0;
        least += g->inverse[i] > 0 ? g->d[i] / longest : -g->d[i];
        sum += g->d[i];
    }
    rest = aggi_max(0, r - ((double)g->n - m)) / (m * longest);
    return (least - rest * sum) / (1 + rest);
}

/* The bound with the true lengths of y; rest = kappa r. */
static double aggi_gm_sharp_bound(aggi_call *c, double close, double r, double m) {
    const aggi_gm *g = &c->gm;
    const double kappa = 1 - ((double)g->n - m) / r;
    double least = 0, longest = 1;
    size_t i;
    (void)aggi_sum_slices(c, aggi_gm_pass3, c, g->n);
    for (i = 0; i < g->n; i++) {
        const double dot = c->part[i] * (g->inverse[i] * kappa / m); /* u_i.rest/m */
        least += g->d[i] > close ? g->d[i] * (1 - dot) : -g->d[i];
        if (g->d[i] > close)
            longest = aggi_max(longest, aggi_root0(1 - 2 * dot + aggi_squared(kappa * r / m)));
    }
    return least / longest;
}

/* The bound with the true distances d, for a value that the quick one did not prove. */
static double aggi_gm_slow_bound(aggi_call *c, double value) {
    aggi_gm *g = &c->gm;
    const double close = aggi_gm_close(g, value), m = aggi_gm_invert(g, close);
    double r, least;
    (void)aggi_sum_slices(c, aggi_gm_pass2, c, 1);
    r = aggi_root0(c->part[0]);
    least = aggi_gm_bound(g, r, 1);
    if (value <= least * (1 + g->gap)) return least; /* as it is whenever r <= n - m */
    return aggi_max(least, aggi_gm_sharp_bound(c, close, r, m));
}

/* Sets c->out, c->report.gap, and d = the exact distances to z, for the point c->weight. d holds
   about what they are before. */
static int aggi_gm_prove(aggi_call *c) {
    aggi_gm *g = &c->gm;
    double least, value = 0, r, longest = 0;
    size_t i;
    (void)aggi_gm_invert(g, aggi_gm_close(g, aggi_sum(g->d, g->n)));
    if (aggi_sum_slices(c, aggi_gm_pass1, c, g->n + 1)) return AGGI_NOT_FINITE;
    r = aggi_root0(c->part[g->n]);
    for (i = 0; i < g->n; i++) {
        const double distance = aggi_root0(c->part[i]);
        longest = aggi_max(longest, distance * g->inverse[i]);
        g->d[i] = distance * aggi_gm_unit(g, i);
        value += g->d[i];
    }
    c->report.gap = 0;
    if (!(value > 0)) return AGG_OK;
    least = aggi_gm_bound(g, r, aggi_max(1, longest));
    if (!(value <= least * (1 + g->gap))) least = aggi_gm_slow_bound(c, value);
    c->report.gap = least > 0 ? aggi_max(0, value / least - 1) : aggi_infinity();
    return AGG_OK;
}

/* part: the dots of all pairs (x_i - z)/scale_i, (x_j - z)/scale_j */
static void aggi_gm_dots_run(void *arg, size_t s) {
    const aggi_call *c = (const aggi_call *)arg;
    const aggi_blend blend = aggi_result(c);
    const size_t n = c->n, pairs = n * (n - 1) / 2, end = aggi_slice_begin(c, s + 1);
    double *sum = c->part + s * pairs, z[AGGI_BLOCK];
    size_t at, width, i, j, p;
    memset(sum, 0, pairs * sizeof *sum);
    for (at = aggi_slice_begin(c, s); at < end; at += width) {
        width = aggi_width(at, end, AGGI_BLOCK);
        (void)aggi_blend_columns(c, &blend, at, width, z);
        for (i = 0, p = 0; i < n; i++) {
            for (j = i + 1; j < n; j++, p++) {
                const double si = 1 / c->gm.scale[i], sj = 1 / c->gm.scale[j];
                const agg_real *x = c->x[i] + at, *y = c->x[j] + at;
                double lane[8] = {0};
                AGGI_ADD_IN_LANES(lane, 8, width, k,
                                  ((double)x[k] * si - z[k] * si) *
                                      ((double)y[k] * sj - z[k] * sj));
                sum[p] += aggi_sum8(lane);
            }
        }
    }
}

/* The cosines from (x_i - z).(x_j - z) itself, for rows where rounding in the squared distances was
   too coarse, as with rows almost on a line. */
static void aggi_gm_exact_cosines(aggi_call *c) {
    aggi_gm *g = &c->gm;
    const size_t n = g->n;
    const double *dot = c->part;
    size_t i, j;
    (void)aggi_sum_slices(c, aggi_gm_dots_run, c, n * (n - 1) / 2);
    for (i = 0; i < n; i++) {
        const double di = g->d[i] / aggi_ratio(aggi_root0(g->scale[i]), g->unit);
        g->cosine[i * n + i] = g->d[i] > 0;
        for (j = i + 1; j < n; j++, dot++) {
            const double dj = g->d[j] / aggi_ratio(aggi_root0(g->scale[j]), g->unit);
            const double v = di > 0 && dj > 0 ? aggi_max(-1, aggi_min(*dot / di / dj, 1)) : 0;
            g->cosine[i * n + j] = g->cosine[j * n + i] = v;
        }
    }
}

/* A few Newton steps with exact angles and distances. A step counts if it proves more and is not
   uphill: where angles are rounding alone, it can go anywhere. g->w is the best point. */
static int aggi_gm_polish(aggi_call *c) {
    aggi_gm *g = &c->gm;
    const double most = aggi_sum(g->d, g->n) * (1 + 1e-15 * (double)g->n);
    double best = c->report.gap, by = 1;
    size_t t;
    int status = AGG_OK;
    memcpy(g->w, c->weight, g->n * sizeof *g->w);
    for (t = 0; t < 16 && status == AGG_OK && best > g->gap && by > 0.01; t++) {
        if (by >= 1) {
            aggi_gm_exact_cosines(c);
            if (!aggi_gm_newton(g)) break;
        }
        aggi_gm_move(g, by, c->weight);
        status = aggi_gm_prove(c);
        if (c->report.gap < best && aggi_sum(g->d, g->n) <= most) {
            best = c->report.gap;
            memcpy(g->w, c->weight, g->n * sizeof *g->w);
            by = 1;
        } else {
            by /= 4;
        }
    }
    memcpy(c->weight, g->w, g->n * sizeof *g->w);
    return status == AGG_OK && c->report.gap > best ? aggi_gm_prove(c) : status;
}

/* The units, and the centre of the smallest ball of a majority as the point. */
static void aggi_gm_start(aggi_call *c, size_t center, double radius) {
    aggi_gm *g = &c->gm;
    size_t i;
    g->n = c->n;
    g->gap = aggi_gap_sought(c->desc);
    g->unit = radius > 0 ? aggi_pair_root(&c->pairs, radius) : 1;
    for (i = 0; i < g->n; i++) {
        const double root = aggi_pair_root(&c->pairs, c->pairs.entry[center * g->n + i]);
        g->scale[i] = c->pairs.wide ? aggi_even_power(aggi_max(root, g->unit)) : 1;
        g->w[i] = i == center;
        g->d[i] = aggi_min(aggi_ratio(root, g->unit), 1e290);
        g->pull[i] = 1;
    }
}

/* c->weight = w for the rows themselves: what a row was pulled in by goes to the centre */
static void aggi_gm_weigh(aggi_call *c, size_t center) {
    const aggi_gm *g = &c->gm;
    const double total = aggi_sum(g->w, g->n);
    size_t i;
    for (i = 0; i < g->n; i++) c->weight[i] = g->w[i] / total * g->pull[i];
    for (i = 0; i < g->n; i++) c->weight[center] += g->w[i] / total * (1 - g->pull[i]);
    c->total = 1;
}

/* Distances, solve, prove. If the ball has radius 0 a majority coincides, and is the median. */
static int aggi_gm_attempt(aggi_call *c, int exact) {
    aggi_gm *g = &c->gm;
    double radius;
    size_t i, center;
    int status = aggi_find_pairs(c, exact);
    if (status) return status;
    center = aggi_best_ball(c, c->n / 2 + 1, &radius);
    aggi_gm_start(c, center, radius);
    if (radius > 0) {
        aggi_gm_squares(c, center, radius);
        aggi_gm_solve(g);
    }
    aggi_gm_weigh(c, center);
    status = aggi_gm_prove(c);
    for (i = 0; i < g->n; i++) /* next to a distance of 1e280 radii all others are rounding */
        if (!(g->pull[i] > 0)) c->report.gap = 0;
    return status;
}

/* Newton's weights can be negative where rows coincide or outnumber the coordinates. The report
   then has Weiszfeld's, which are 1/distance and name the same point. */
static void aggi_gm_shares(aggi_call *c) {
    const double *d = c->gm.d;
    double nearest = aggi_infinity(), sum = 0, least = 0;
    size_t i;
    for (i = 0; i < c->n; i++) {
        nearest = aggi_min(nearest, d[i]);
        least = aggi_min(least, c->weight[i]);
    }
    for (i = 0; i < c->n; i++) {
        if (least < 0) c->weight[i] = d[i] > nearest ? nearest / d[i] : 1;
        sum += c->weight[i];
    }
    for (i = 0; i < c->n; i++) c->weight[i] /= sum;
}

/* What does not reach the goal is tried again with distances in double, which rows far away and few
   coordinates need, and then polished. No more than the goal: next to giants, polishing beyond it
   loses the other rows in rounding. */
static int aggi_geometric_median(aggi_call *c) {
    const double goal = aggi_gap_sought(c->desc);
    int status = aggi_gm_attempt(c, 0);
    if (status == AGG_OK && c->report.gap > goal) status = aggi_gm_attempt(c, 1);
    if (status == AGG_OK && c->report.gap > goal) status = aggi_gm_polish(c);
    if (status != AGG_OK) return status;
    if (c->report.weight) aggi_gm_shares(c);
    return c->report.gap <= aggi_gap(c->desc) ? AGG_OK : AGG_INEXACT;
}

/* ---- 10 mean, Bulyan, CClip, CGE, MoNNA ------------------------------------------------------ */

static int aggi_mean(aggi_call *c) {
    size_t i;
    for (i = 0; i < c->n; i++) c->weight[i] = 1;
    c->total = (double)c->n;
    return AGG_OK;
}

/* the row of least score that is not taken yet, t of them being so */
static size_t aggi_bulyan_pick(aggi_call *c, size_t t) {
    const size_t neighbours = aggi_neighbours(c, c->n - t);
    const int *taken = c->picked.taken;
    double best = 0;
    size_t i, pick = c->n;
    for (i = 0; i < c->n; i++) {
        double score;
        if (taken[i]) continue;
        score = aggi_krum_score(c, i, neighbours, taken);
        if (pick < c->n && !(score < best)) continue;
        best = score;
        pick = i;
    }
    return pick;
}

static int aggi_bulyan(aggi_call *c) {
    const size_t theta = c->n - 2 * c->f;
    int *taken = c->picked.taken, status = aggi_find_pairs(c, 0);
    size_t i, t;
    if (status) return status;
    memset(taken, 0, c->n * sizeof *taken);
    for (t = 0; t < theta; t++) taken[aggi_bulyan_pick(c, t)] = 1;
    for (i = 0, t = 0; i < c->n; i++)
        if (taken[i]) c->picked.row[t++] = c->x[i];
    status = aggi_window(c, c->picked.row, theta, theta - 2 * c->f, AGGI_CLOSEST);
    if (status) return status;
    for (i = c->n; c->report.weight && i-- > 0;) /* from the picked rows to all, in place */
        c->weight[i] = taken[i] ? c->weight[--t] : 0;
    return AGG_OK;
}

/* c->out = desc.start or the coordinate-wise median */
static int aggi_cclip_start(aggi_call *c) {
    const agg_real *start = c->desc->start;
    memset(c->weight, 0, c->n * sizeof *c->weight);
    if (!start) return aggi_cwmed(c);
    if (!aggi_all_finite(start, c->dim)) return AGG_ERR_ARG;
    memcpy(c->out, start, c->dim * sizeof *c->out);
    return AGG_OK;
}

/* v += mean_i (x_i - v) min(1, tau/||x_i - v||), that is v times what the rows' shares leave, plus
   the rows times their shares. tau is a root; < 0: it is the median of ||x_i - v||. */
static int aggi_cclip_step(aggi_call *c, double *tau) {
    double *kept = c->picked.share, *share = kept + 1; /* of v, of the rows */
    aggi_blend blend;
    size_t i;
    int status = aggi_find_roots(c, c->x, c->n, c->out, share);
    if (status) return status;
    if (*tau < 0) {
        aggi_rank(c->item, share, c->n, c->n);
        *tau = aggi_median_root(c->item, c->n);
    }
    *kept = 1;
    c->picked.row[0] = c->out;
    for (i = 0; i < c->n; i++) {
        share[i] = (share[i] <= *tau ? 1 : aggi_ratio(*tau, share[i])) / (double)c->n;
        *kept -= share[i];
        c->picked.row[i + 1] = c->x[i];
    }
    *kept = aggi_max(*kept, 0);
    blend.row = c->picked.row;
    blend.weight = c->picked.share;
    blend.n = c->n + 1;
    blend.total = 1;
    status = aggi_combine(c, &blend);
    for (i = 0; i < c->n; i++) c->weight[i] = c->weight[i] * *kept + share[i];
    return status;
}

static int aggi_cclip(aggi_call *c) {
    const size_t iterations = aggi_or(c->desc->iterations, 3);
    double tau = c->desc->tau > 0 ? aggi_root0(c->desc->tau) : -1;
    size_t t;
    int status = aggi_cclip_start(c);
    for (t = 0; t < iterations && status == AGG_OK; t++) status = aggi_cclip_step(c, &tau);
    return status;
}

/* the n-f rows nearest to center (NULL: of least norm); row `first` whatever coincides with it */
static int aggi_nearest(aggi_call *c, const agg_real *center, size_t first) {
    const int status = aggi_find_roots(c, c->x, c->n, center, c->key);
    if (status) return status;
    aggi_rank(c->item, c->key, c->n, first);
    aggi_choose_ranked(c, c->n - c->f);
    return AGG_OK;
}

static int aggi_cge(aggi_call *c) { return aggi_nearest(c, NULL, c->n); }

static int aggi_monna(aggi_call *c) { return aggi_nearest(c, c->x[c->pivot], c->pivot); }

/* ---- 11 CAF, SMEA ---------------------------------------------------------------------------- */

/* to = from^2; returns the trace */
static double aggi_matrix_square(const double *from, double *to, size_t n) {
    double trace = 0;
    size_t i, j, k;
    for (i = 0; i < n * n; i++) to[i] = 0;
    for (i = 0; i < n; i++) {
        for (k = 0; k < n; k++) {
            const double f = from[i * n + k];
            for (j = 0; j < n; j++) to[i * n + j] += f * from[k * n + j];
        }
    }
    for (i = 0; i < n; i++) trace += to[i * n + i];
    return trace;
}

/* Largest eigenvalue of the symmetric positive semidefinite n x n matrix a, its vector in
   g->vector. Squares a again and again, scaled to trace 1, so that only the top eigenspace is left,
   degenerate or not: no start vector that could be orthogonal to it. */
static double aggi_top_eigen(aggi_spectrum *g, const double *a, size_t n) {
    double *b = g->power, *v = g->vector, trace = 0, norm = 0, value = 0;
    size_t i, j, top = 0, round;
    for (i = 0; i < n; i++) {
        trace += a[i * n + i];
        v[i] = 0;
    }
    if (!(trace > 0)) return 0;
    for (i = 0; i < n * n; i++) b[i] = a[i] / trace;
    for (round = 0; round < 24; round++) {
        trace = aggi_matrix_square(b, g->square, n);
        for (i = 0; i < n * n; i++) b[i] = g->square[i] / trace;
        if (1 - trace < 1e-14) break; /* the trace of the square is 1 when one eigenvalue is left */
    }
    for (i = 1; i < n; i++)
        if (b[i * n + i] > b[top * n + top]) top = i;
    for (i = 0; i < n; i++) norm += b[top * n + i] * b[top * n + i];
    for (i = 0; i < n; i++) v[i] = b[top * n + i] / aggi_root0(norm);
    for (i = 0; i < n; i++)
        for (j = 0; j < n; j++) value += v[i] * a[i * n + j] * v[j];
    return aggi_max(value, 0);
}

/* g->gram = (x_i - mu).(x_j - mu) for the m rows of `row`, mu being their mean with g->weight; from
   the pairs, in units of one:  gram_ij = (q_i + q_j - square_ij - sum_k w_k q_k) / 2,
   q_i = sum_j w_j square_ij. */
static void aggi_centred_gram(aggi_call *c, const size_t *row, size_t m, double unit) {
    aggi_spectrum *g = &c->spectrum;
    const double *w = g->weight, total = aggi_sum(w, m);
    double *q = g->mean_square, half = 0;
    size_t i, j;
    for (i = 0; i < m; i++) {
        const double *pair = c->pairs.entry + row[i] * c->n;
        q[i] = 0;
        for (j = 0; j < m; j++)
            if (w[j] > 0) q[i] += w[j] / total * aggi_pair_square(&c->pairs, pair[row[j]], unit);
        half += 0.5 * w[i] / total * (w[i] > 0 ? q[i] : 0);
    }
    for (i = 0; i < m; i++) {
        const double *pair = c->pairs.entry + row[i] * c->n;
        for (j = 0; j < m; j++) {
            const double square = aggi_pair_square(&c->pairs, pair[row[j]], unit);
            g->gram[i * m + j] = 0.5 * (q[i] + q[j] - square) - half;
        }
    }
}

/* the largest entry among rows that still have weight */
static double aggi_caf_unit(const aggi_call *c) {
    const double *w = c->spectrum.weight;
    double unit = 0;
    size_t i, j;
    for (i = 0; i < c->n; i++)
        for (j = 0; j < i; j++)
            if (w[i] > 0 && w[j] > 0) unit = aggi_max(unit, c->pairs.entry[i * c->n + j]);
    return unit;
}

/* Root of the standard deviation along the direction where it is largest; total: of the weights. */
static double aggi_caf_spread(aggi_call *c, double total) {
    aggi_spectrum *g = &c->spectrum;
    const double *w = g->weight, unit = aggi_caf_unit(c);
    const size_t n = c->n;
    double value;
    size_t i, j;
    if (!(unit > 0)) return 0;
    aggi_centred_gram(c, g->subset, n, unit);
    for (i = 0; i < n; i++) {
        for (j = 0; j < n; j++) {
            const double v = aggi_root0(w[i]) * aggi_root0(w[j]) * g->gram[i * n + j] / total;
            g->scaled[i * n + j] = w[i] > 0 && w[j] > 0 ? v : 0;
        }
    }
    value = aggi_top_eigen(g, g->scaled, n);
    return aggi_root0(aggi_root0(value)) * aggi_pair_root(&c->pairs, unit);
}

/* Lowers weights by how far rows are off along that direction, off_i being the square: the farthest
   row goes to 0. Returns 0 if no row is off. */
static int aggi_caf_lower(aggi_call *c) {
    aggi_spectrum *g = &c->spectrum;
    double *w = g->weight, *off = g->off, most = 0;
    const size_t n = c->n;
    size_t i, j;
    for (i = 0; i < n; i++) {
        off[i] = 0;
        for (j = 0; j < n; j++)
            if (w[j] > 0) off[i] += g->gram[i * n + j] * aggi_root0(w[j]) * g->vector[j];
        off[i] *= off[i];
        if (w[i] > 0) most = aggi_max(most, off[i]);
    }
    if (!(most > 0)) return 0;
    for (i = 0; i < n; i++) w[i] = w[i] > 0 ? aggi_max(0, w[i] * (1 - off[i] / most)) : 0;
    return 1;
}

static int aggi_caf(aggi_call *c) {
    aggi_spectrum *g = &c->spectrum;
    double best = aggi_infinity(), total = (double)c->n;
    size_t i;
    const int status = aggi_find_pairs(c, 0);
    if (status) return status;
    for (i = 0; i < c->n; i++) {
        g->weight[i] = 1;
        g->subset[i] = i;
    }
    do {
        const double spread = aggi_caf_spread(c, total);
        if (spread < best) {
            best = spread;
            memcpy(c->weight, g->weight, c->n * sizeof *c->weight);
            c->total = total;
        }
        if (!(spread > 0) || !aggi_caf_lower(c)) break;
        total = aggi_sum(g->weight, c->n);
    } while (total > (double)(c->n - 2 * c->f));
    return AGG_OK;
}

/* top eigenvalue of the scatter of m rows */
static double aggi_subset_spread(aggi_call *c, const size_t *row, size_t m, double unit) {
    aggi_spectrum *g = &c->spectrum;
    size_t i;
    for (i = 0; i < m; i++) g->weight[i] = 1;
    aggi_centred_gram(c, row, m, unit);
    return aggi_top_eigen(g, g->gram, m);
}

/* Is row i farther from one of the first `depth` of the subset than the bound allows? A scatter
   matrix only grows with more rows, and that of two has the top eigenvalue ||a - b||^2/2. */
static int aggi_smea_excludes(const aggi_call *c, size_t depth, size_t i, double bound,
                              double unit) {
    const size_t *subset = c->spectrum.subset;
    size_t j;
    for (j = 0; j < depth; j++) {
        const double entry = c->pairs.entry[subset[j] * c->n + i];
        if (aggi_pair_square(&c->pairs, entry, unit) > 2 * bound) return 1;
    }
    return 0;
}

/* Subsets in lexicographic order, depth first; g->best is the best so far, at first the smallest
   ball. A subset must be better by more than rounding: ties go to the first. */
static int aggi_smea_search(aggi_call *c, double unit) {
    aggi_spectrum *g = &c->spectrum;
    const size_t keep = c->n - c->f, budget = aggi_budget(c->desc);
    double bound = aggi_subset_spread(c, g->best, keep, unit) * (1 + 1e-9), spread;
    size_t depth = 0, next = 0;
    for (;;) {
        if (c->n - next < keep - depth) { /* too few rows left: back up */
            if (!depth) return AGG_OK;
            next = g->subset[--depth] + 1;
            continue;
        }
        if (c->report.nodes == budget) return AGG_INEXACT;
        c->report.nodes++;
        if (aggi_smea_excludes(c, depth, next, bound, unit)) {
            next++;
            continue;
        }
        g->subset[depth++] = next++;
        if (depth < keep) continue;
        spread = aggi_subset_spread(c, g->subset, keep, unit);
        if (spread < bound) {
            bound = spread * (1 - 1e-9);
            memcpy(g->best, g->subset, keep * sizeof *g->best);
        }
        next = g->subset[--depth] + 1;
    }
}

static int aggi_smea(aggi_call *c) {
    size_t *best = c->spectrum.best, i;
    const size_t keep = c->n - c->f;
    double radius;
    int status = aggi_find_pairs(c, 0);
    if (status) return status;
    aggi_best_ball(c, keep, &radius);
    for (i = 0; i < keep; i++) best[i] = c->item[i].index;
    if (radius > 0) status = aggi_smea_search(c, radius);
    aggi_choose(c, best, keep);
    return status;
}

/* ---- 12 pre-aggregations --------------------------------------------------------------------- */

/* Each fills the weights (all 0 at first) of a mix, which makes new rows of the rows in play. The
   rows have been scanned, so nothing can go wrong. */

static void aggi_mix_nnm(aggi_call *c, aggi_mix *m) {
    const size_t keep = c->n - c->f;
    size_t i, j;
    (void)aggi_find_pairs(c, 0);
    for (i = 0; i < c->n; i++) {
        aggi_by_distance(c, i);
        for (j = 0; j < keep; j++) m->weight[i * c->n + c->item[j].index] = 1;
        m->total[i] = (double)keep;
    }
}

/* Fisher-Yates, then groups of neighbours */
static void aggi_mix_bucketing(aggi_call *c, aggi_mix *m) {
    const agg_rng rng = c->desc->rng;
    const size_t size = aggi_bucket(c->desc), pivot = c->pivot;
    size_t i;
    for (i = 0; i < c->n; i++) c->item[i].index = i;
    for (i = c->n; i-- > 1;) {
        const size_t j = (size_t)(rng.next(rng.self) % (i + 1)), t = c->item[i].index;
        c->item[i].index = c->item[j].index;
        c->item[j].index = t;
    }
    for (i = 0; i < c->n; i++) {
        m->weight[i / size * c->n + c->item[i].index] = 1;
        m->total[i / size] += 1;
        if (c->item[i].index == pivot) c->pivot = i / size;
    }
}

/* c->key has the roots of the norms; rows longer than most^2 are shortened to that */
static void aggi_shorten(const aggi_call *c, aggi_mix *m, double most) {
    size_t i;
    for (i = 0; i < c->n; i++) {
        m->weight[i * c->n + i] = c->key[i] > most ? aggi_ratio(most, c->key[i]) : 1;
        m->total[i] = 1;
    }
}

static void aggi_mix_clip(aggi_call *c, aggi_mix *m) {
    (void)aggi_find_roots(c, c->x, c->n, NULL, c->key);
    aggi_shorten(c, m, aggi_root0(c->desc->clip));
}

/* floor(2 f (n-f) / n) rows are clipped, to the norm of the next */
static void aggi_mix_arc(aggi_call *c, aggi_mix *m) {
    const double f = (double)c->f, n = (double)c->n;
    const size_t clipped = (size_t)(2 * f * (n - f) / n);
    (void)aggi_find_roots(c, c->x, c->n, NULL, c->key);
    aggi_rank(c->item, c->key, c->n, c->n);
    aggi_shorten(c, m, c->item[c->n - clipped - 1].key);
}

typedef struct aggi_mix_job {
    const aggi_call *c;
    const aggi_mix *m;
} aggi_mix_job;

static void aggi_mix_run(void *arg, size_t s) {
    const aggi_mix_job *job = (const aggi_mix_job *)arg;
    const aggi_call *c = job->c;
    const aggi_mix *m = job->m;
    const size_t end = aggi_slice_begin(c, s + 1);
    double acc[AGGI_BLOCK];
    aggi_blend blend;
    size_t at, j, k, width;
    blend.row = c->x;
    blend.n = m->n_in;
    for (at = aggi_slice_begin(c, s); at < end; at += width) {
        width = aggi_width(at, end, AGGI_BLOCK);
        for (j = 0; j < m->n_out; j++) {
            agg_real *to = m->row + j * c->dim + at;
            blend.weight = m->weight + j * m->n_in;
            blend.total = m->total[j];
            (void)aggi_blend_columns(c, &blend, at, width, acc);
            for (k = 0; k < width; k++) to[k] = (agg_real)acc[k];
        }
    }
}

/* the rows of the mix become the rows in play */
static void aggi_play_mix(aggi_call *c, const aggi_mix *m) {
    aggi_mix_job job;
    size_t i;
    job.c = c;
    job.m = m;
    aggi_run(c, aggi_mix_run, &job);
    c->n = m->n_out;
    for (i = 0; i < c->n; i++) c->x[i] = m->row + i * c->dim;
}

/* rows made of n */
static size_t aggi_rows_same(const agg_desc *d, size_t n) {
    (void)d;
    return n;
}

static size_t aggi_rows_buckets(const agg_desc *d, size_t n) {
    return (n - 1) / aggi_bucket(d) + 1;
}

/* ---- 13 the tables --------------------------------------------------------------------------- */

/* What varies by rule or pre-aggregation stands here, a row each, in the order of the enums. A new
   rule is one row at the end of aggi_rules and one function above; agg_rule gets its name, RULES a
   description, and tests/test_agg_table.c a row as well. The row tells the rest of the code all it
   has to know:
     bound     {a, b, b with desc.classic_krum}: a call takes f of n rows if n >= a f + b
     lambda    for f within the bound; NULL: the paper's table has none
     needs     memory it works in and options it reads
     result    what its function leaves
     run       returns AGG_OK, AGG_INEXACT, an error, or AGGI_NOT_FINITE */

enum {
    AGGI_PAIRS = 1,      /* memory: c->pairs */
    AGGI_COLUMNS = 2,    /* c->columns */
    AGGI_COVER = 4,      /* c->cover */
    AGGI_GM = 8,         /* c->gm */
    AGGI_SPECTRUM = 16,  /* c->spectrum */
    AGGI_PICKED = 32,    /* c->picked */
    AGGI_PIVOT = 64,     /* options: desc.pivot, a row that must be there */
    AGGI_Q = 128,        /* desc.q, at most n - f */
    AGGI_CLIP = 256,     /* desc.clip, more than 0 */
    AGGI_RNG = 512,      /* desc.rng */
    AGGI_BASELINE = 1024 /* survives no adversary; a call takes it nevertheless, to compare */
};

typedef enum aggi_result_kind {
    AGGI_WEIGHTS, /* c->weight and c->total: the call makes c->out of them */
    AGGI_WRITTEN  /* c->out, and c->weight for the report if it wants weights */
} aggi_result_kind;

typedef struct aggi_bound {
    size_t a, b, classic_b;
} aggi_bound;

typedef struct aggi_rule {
    agg_rule id;
    int order_optimal;
    const char *name, *cost;
    aggi_bound bound;
    double (*lambda)(double n, double f, double dim);
    int needs;
    aggi_result_kind result;
    int (*run)(aggi_call *c);
} aggi_rule;

/* Coordinate-wise rules lose this factor. */
static double aggi_lambda_by_columns(double n, double f, double dim) {
    return aggi_min(aggi_root0(dim), 2 * aggi_root0(n - f));
}

static double aggi_lambda_mda(double n, double f, double dim) {
    (void)dim;
    return 2 * f / (n - f);
}

static double aggi_lambda_cwtm(double n, double f, double dim) {
    return f / (n - f) * aggi_lambda_by_columns(n, f, dim);
}

static double aggi_lambda_meamed(double n, double f, double dim) {
    return 2 * f / (n - f) * aggi_lambda_by_columns(n, f, dim);
}

static double aggi_lambda_cwmed(double n, double f, double dim) {
    return n / (2 * (n - f)) * aggi_lambda_by_columns(n, f, dim);
}

static double aggi_lambda_krum(double n, double f, double dim) {
    (void)dim;
    return 1 + aggi_root0((n - f) / (n - 2 * f));
}

static double aggi_lambda_gm(double n, double f, double dim) {
    (void)dim;
    return 1 + aggi_root0((n - f) * (n - f) / (n * (n - 2 * f)));
}

static double aggi_lambda_mean(double n, double f, double dim) {
    (void)n;
    (void)f;
    (void)dim;
    return 0; /* f is 0 */
}

/* clang-format off */

static const aggi_rule aggi_rules[] = {
    /* id, order-optimal, name, cost, bound, lambda,
       needs, result, run */
    {AGG_MDA,        1, "MDA",        "n^2 d + search", {2, 1, 1}, aggi_lambda_mda,
     AGGI_PAIRS | AGGI_COVER,                  AGGI_WEIGHTS, aggi_mda},
    {AGG_CWTM,       1, "CWTM",       "n d",            {2, 1, 1}, aggi_lambda_cwtm,
     AGGI_COLUMNS,                             AGGI_WRITTEN, aggi_cwtm},
    {AGG_MEAMED,     1, "MeaMed",     "n d",            {2, 1, 1}, aggi_lambda_meamed,
     AGGI_COLUMNS,                             AGGI_WRITTEN, aggi_meamed},
    {AGG_CWMED,      0, "CWMed",      "n d",            {2, 1, 1}, aggi_lambda_cwmed,
     AGGI_COLUMNS,                             AGGI_WRITTEN, aggi_cwmed},
    {AGG_KRUM,       0, "Krum",       "n^2 d",          {2, 1, 3}, aggi_lambda_krum,
     AGGI_PAIRS,                               AGGI_WEIGHTS, aggi_krum},
    {AGG_MULTI_KRUM, 0, "Multi-Krum", "n^2 d",          {2, 1, 3}, aggi_lambda_krum,
     AGGI_PAIRS | AGGI_Q,                      AGGI_WEIGHTS, aggi_multi_krum},
    {AGG_GM,         0, "GM",         "n^2 d",          {2, 1, 1}, aggi_lambda_gm,
     AGGI_PAIRS | AGGI_GM,                     AGGI_WRITTEN, aggi_geometric_median},
    {AGG_MEAN,       0, "mean",       "n d",            {2, 1, 1}, aggi_lambda_mean,
     AGGI_BASELINE,                            AGGI_WEIGHTS, aggi_mean},
    {AGG_BULYAN,     0, "Bulyan",     "n^2 d + n^3",    {4, 3, 3}, NULL,
     AGGI_PAIRS | AGGI_COLUMNS | AGGI_PICKED,  AGGI_WRITTEN, aggi_bulyan},
    {AGG_CCLIP,      0, "CClip",      "n d",            {2, 1, 1}, NULL,
     AGGI_COLUMNS | AGGI_PICKED,               AGGI_WRITTEN, aggi_cclip},
    {AGG_CGE,        0, "CGE",        "n d",            {2, 1, 1}, NULL,
     0,                                        AGGI_WEIGHTS, aggi_cge},
    {AGG_MONNA,      0, "MoNNA",      "n d",            {2, 1, 1}, NULL,
     AGGI_PIVOT,                               AGGI_WEIGHTS, aggi_monna},
    {AGG_CAF,        0, "CAF",        "n^2 d + f n^3",  {2, 1, 1}, NULL,
     AGGI_PAIRS | AGGI_SPECTRUM,               AGGI_WEIGHTS, aggi_caf},
    {AGG_SMEA,       0, "SMEA",       "n^2 d + search", {2, 1, 1}, NULL,
     AGGI_PAIRS | AGGI_SPECTRUM,               AGGI_WEIGHTS, aggi_smea},
};

typedef struct aggi_pre {
    agg_pre id;
    int needs;
    const char *name;
    size_t (*rows)(const agg_desc *d, size_t n); /* made of n */
    void (*fill)(aggi_call *c, aggi_mix *m);     /* NULL: nothing to do */
} aggi_pre;

static const aggi_pre aggi_pres[] = {
    {AGG_PRE_NONE,      0,          "none",      aggi_rows_same,    NULL},
    {AGG_PRE_NNM,       AGGI_PAIRS, "NNM",       aggi_rows_same,    aggi_mix_nnm},
    {AGG_PRE_BUCKETING, AGGI_RNG,   "bucketing", aggi_rows_buckets, aggi_mix_bucketing},
    {AGG_PRE_CLIP,      AGGI_CLIP,  "clipping",  aggi_rows_same,    aggi_mix_clip},
    {AGG_PRE_ARC,       0,          "ARC",       aggi_rows_same,    aggi_mix_arc},
};

/* a row that was forgotten does not compile; one in the wrong place fails tests/test_agg_table.c */
typedef char aggi_every_rule[sizeof aggi_rules / sizeof *aggi_rules == AGG_RULE_COUNT ? 1 : -1];
typedef char aggi_every_pre[sizeof aggi_pres / sizeof *aggi_pres == AGG_PRE_COUNT ? 1 : -1];

/* clang-format on */

static int aggi_is_rule(agg_rule rule) { return (unsigned)rule < AGG_RULE_COUNT; }

static int aggi_is_pre(agg_pre pre) { return (unsigned)pre < AGG_PRE_COUNT; }

/* of a rule and its pre-aggregations */
static int aggi_needs(const agg_desc *d) {
    return aggi_rules[d->rule].needs | aggi_pres[d->pre[0]].needs | aggi_pres[d->pre[1]].needs;
}

static int aggi_has_pre(const agg_desc *d) { return d->pre[0] || d->pre[1]; }

/* ---- 14 the call ----------------------------------------------------------------------------- */

static int aggi_positive(double v) { return v > 0 && aggi_finite(v); }

/* does a call take f of n? */
static int aggi_takes(const agg_desc *d, size_t n) {
    const aggi_bound *bound = &aggi_rules[d->rule].bound;
    const size_t b = d->classic_krum ? bound->classic_b : bound->b;
    return n >= b && d->f <= (n - b) / bound->a;
}

static int aggi_options_fit(const agg_desc *d) {
    const int needs = aggi_needs(d);
    if ((needs & AGGI_CLIP) && !aggi_positive(d->clip)) return 0;
    if ((needs & AGGI_PIVOT) && d->pivot >= d->n) return 0;
    return (d->tau == 0 || aggi_positive(d->tau)) && (d->gap == 0 || aggi_positive(d->gap));
}

static agg_status aggi_validate(const agg_desc *d) {
    size_t n, i;
    if (!d || !d->n || !d->dim) return AGG_ERR_ARG;
    if (!aggi_is_rule(d->rule) || !aggi_is_pre(d->pre[0]) || !aggi_is_pre(d->pre[1]) ||
        !aggi_options_fit(d))
        return AGG_ERR_ARG;
    if (!aggi_takes(d, d->n)) return AGG_ERR_BOUND;
    for (i = 0, n = d->n; i < 2; i++) {
        const aggi_pre *pre = &aggi_pres[d->pre[i]];
        if ((pre->needs & AGGI_RNG) && !d->rng.next) return AGG_ERR_RNG;
        n = pre->rows(d, n);
        if (!aggi_takes(d, n)) return AGG_ERR_BOUND;
    }
    return (aggi_needs(d) & AGGI_Q) && d->q > n - d->f ? AGG_ERR_ARG : AGG_OK;
}

/* can the sizes below be multiplied at all? */
static int aggi_sizes_fit(const agg_desc *d) {
    const int needs = aggi_needs(d);
    if (d->n > (size_t)-1 / 16384) return 0;
    if ((needs & AGGI_COLUMNS) && d->n > 0xffffffffu) return 0;
    return !((needs & AGGI_PAIRS) || aggi_has_pre(d)) || aggi_product_fits(d->n, d->n);
}

/* the most sums that a kernel makes of a slice */
static size_t aggi_most_sums(int needs, size_t n) {
    const size_t products = aggi_gram_sums(n);
    return (needs & AGGI_PAIRS) && products > n + 1 ? products : n + 1;
}

/* The one place that knows how much memory a desc needs. */
static void aggi_layout(aggi_call *c, aggi_arena *a) {
    const agg_desc *d = c->desc;
    const int needs = aggi_needs(d);
    const size_t n = d->n;
    size_t i;
    if (!aggi_sizes_fit(d)) {
        a->bad = 1;
        return;
    }
    aggi_call_layout(c, a, aggi_most_sums(needs, n));
    if (needs & AGGI_PAIRS) aggi_pairs_layout(&c->pairs, a, d, c->slices);
    if (needs & AGGI_COLUMNS) aggi_columns_layout(&c->columns, a, n, c->slices);
    if (needs & AGGI_COVER) aggi_cover_layout(&c->cover, a, n, d->f);
    if (needs & AGGI_GM) aggi_gm_layout(&c->gm, a, n);
    if (needs & AGGI_SPECTRUM) aggi_spectrum_layout(&c->spectrum, a, n);
    if (needs & AGGI_PICKED) aggi_picked_layout(&c->picked, a, n);
    for (i = 0; i < 2; i++)
        if (d->pre[i]) aggi_mix_layout(&c->mix[i], a, n, d->dim);
}

/* The slices depend on n and dim alone, so that the bits of a sum do not depend on threads. */
static size_t aggi_slices(size_t n, size_t dim) {
    const size_t most = n > 256 ? 4 : AGGI_SLICES, want = dim / AGGI_CHUNK;
    return want < 1 ? 1 : want > most ? most : want;
}

/* Lays a call out in scratch; NULL: only counts. Returns the bytes needed, 0 if they do not fit a
   size_t. */
static size_t aggi_begin(aggi_call *c, const agg_desc *d, void *scratch, size_t size) {
    aggi_arena a = aggi_arena_make(scratch, size);
    memset(c, 0, sizeof *c);
    c->desc = d;
    c->dim = d->dim;
    c->slices = aggi_slices(d->n, d->dim);
    c->avx2 = AGGI_HAS_AVX2;
    aggi_layout(c, &a);
    return aggi_arena_size(&a);
}

/* the rows that are there */
static void aggi_collect(aggi_call *c, const agg_real *const *rows) {
    size_t i;
    for (i = 0; i < c->desc->n; i++) {
        if (!rows[i]) continue;
        c->sent.id[c->sent.n] = i;
        c->sent.row[c->sent.n++] = rows[i];
    }
    c->report.dropped = c->desc->n - c->sent.n;
}

/* reads all rows and drops those with a NaN or Inf */
static void aggi_scan(aggi_call *c) {
    aggi_senders *sent = &c->sent;
    size_t i, m = 0;
    for (i = 0; i < sent->n; i++) {
        if (!aggi_all_finite(sent->row[i], c->dim)) continue;
        sent->id[m] = sent->id[i];
        sent->row[m++] = sent->row[i];
    }
    c->report.dropped += sent->n - m;
    sent->n = m;
    c->scanned = 1;
}

/* the rows sent come into play */
static void aggi_play(aggi_call *c) {
    size_t i;
    c->n = c->sent.n;
    c->f = c->desc->f - c->report.dropped;
    c->pivot = c->n;
    for (i = 0; i < c->n; i++) {
        c->x[i] = c->sent.row[i];
        if (c->sent.id[i] == c->desc->pivot) c->pivot = i;
    }
}

static void aggi_pre_aggregate(aggi_call *c, size_t which) {
    const aggi_pre *pre = &aggi_pres[c->desc->pre[which]];
    aggi_mix *m = &c->mix[which];
    if (!pre->fill) return;
    m->n_in = c->n;
    m->n_out = pre->rows(c->desc, c->n);
    memset(m->weight, 0, c->n * c->n * sizeof *m->weight);
    memset(m->total, 0, c->n * sizeof *m->total);
    pre->fill(c, m);
    aggi_play_mix(c, m);
}

/* pre-aggregations and rule on the rows sent; the result is in c->out */
static int aggi_attempt(aggi_call *c) {
    const aggi_rule *rule = &aggi_rules[c->desc->rule];
    aggi_blend blend;
    int status, combined;
    if (c->report.dropped > c->desc->f) return AGG_ERR_ROWS;
    aggi_play(c);
    if ((rule->needs & AGGI_PIVOT) && c->pivot == c->n) return AGG_ERR_PIVOT;
    c->total = 1;
    c->report.nodes = 0;
    aggi_pre_aggregate(c, 0);
    aggi_pre_aggregate(c, 1);
    status = rule->run(c);
    if (status != AGG_OK && status != AGG_INEXACT) return status;
    if (rule->result == AGGI_WRITTEN) return status;
    blend = aggi_result(c);
    combined = aggi_combine(c, &blend);
    return combined ? combined : status;
}

/* A NaN or Inf convicts its sender, but to look for one first would be to read all rows once more.
   So the first attempt trusts the rows. A NaN or Inf makes some sum not finite that a kernel forms
   anyway; the kernel then returns AGGI_NOT_FINITE, and the attempt is thrown away: the caller's out
   is not written yet. Only now the rows are scanned, those with a NaN or Inf are dropped, and the
   second attempt is made without them. Its rows are finite, so a sum that is not has overflowed,
   and kernels that see c->scanned do it again by a slower, safe route.
   Pre-aggregations would carry a NaN from one row to others: the rows are scanned before them. */
static int aggi_aggregate(aggi_call *c) {
    int status;
    if (aggi_has_pre(c->desc)) aggi_scan(c);
    status = aggi_attempt(c);
    if (status != AGGI_NOT_FINITE) return status;
    AGG_ASSERT(!c->scanned);
    aggi_scan(c);
    return aggi_attempt(c);
}

/* back from the rows the rule saw, c->weight, through the pre-aggregations to those sent */
static void aggi_report_weights(aggi_call *c) {
    size_t i, j, which;
    for (i = 0; i < c->n; i++) c->weight[i] /= c->total;
    for (which = 2; which-- > 0;) {
        const aggi_mix *m = &c->mix[which];
        if (!c->desc->pre[which]) continue;
        for (i = 0; i < m->n_in; i++) {
            c->key[i] = 0;
            for (j = 0; j < m->n_out; j++)
                c->key[i] += c->weight[j] * m->weight[j * m->n_in + i] / m->total[j];
        }
        memcpy(c->weight, c->key, m->n_in * sizeof *c->weight);
    }
    memset(c->report.weight, 0, c->desc->n * sizeof *c->report.weight);
    c->report.used = 0;
    for (i = 0; i < c->sent.n; i++) {
        c->report.weight[c->sent.id[i]] = c->weight[i];
        c->report.used += c->weight[i] > 0;
    }
}

/* the attempt succeeded, so all rows are finite, scanned or not */
static void aggi_report_suspicion(aggi_call *c) {
    const double infinity = aggi_infinity();
    double usual;
    size_t i;
    c->scanned = 1;
    (void)aggi_find_roots(c, c->sent.row, c->sent.n, c->out, c->key);
    aggi_rank(c->item, c->key, c->sent.n, c->sent.n);
    usual = aggi_median_root(c->item, c->sent.n);
    for (i = 0; i < c->desc->n; i++) c->report.suspicion[i] = infinity;
    for (i = 0; i < c->sent.n; i++) {
        const double beyond = c->key[i] > 0 ? infinity : 1;
        c->report.suspicion[c->sent.id[i]] = usual > 0 ? aggi_ratio(c->key[i], usual) : beyond;
    }
}

AGG_API agg_desc agg_make_desc(agg_rule rule, size_t n, size_t dim, size_t f) {
    agg_desc d;
    memset(&d, 0, sizeof d);
    d.n = n;
    d.dim = dim;
    d.f = f;
    d.rule = rule;
    return d;
}

AGG_API size_t agg_scratch_size(const agg_desc *d) {
    aggi_call c;
    return aggi_validate(d) == AGG_OK ? aggi_begin(&c, d, NULL, 0) : 0;
}

AGG_API agg_status agg_aggregate(const agg_desc *d, const agg_real *const *rows, agg_real *out,
                                 void *scratch, size_t scratch_size, agg_report *report) {
    const agg_status valid = aggi_validate(d);
    aggi_call c;
    size_t need;
    int status;
    if (valid != AGG_OK) return valid;
    if (!rows || !out || !scratch) return AGG_ERR_ARG;
    need = aggi_begin(&c, d, NULL, 0);
    if (!need) return AGG_ERR_SIZE;
    if (scratch_size < need) return AGG_ERR_SCRATCH;
    (void)aggi_begin(&c, d, scratch, scratch_size);
    AGG_ASSERT(c.out); /* what fitted when it was counted fits now */
    if (report) {
        c.report.weight = report->weight;
        c.report.suspicion = report->suspicion;
    }
    aggi_collect(&c, rows);
    status = aggi_aggregate(&c);
    if (status > AGG_INEXACT) {
        if (report) report->dropped = c.report.dropped;
        return (agg_status)status;
    }
    memcpy(out, c.out, d->dim * sizeof *out);
    if (c.report.weight) aggi_report_weights(&c);
    if (c.report.suspicion) aggi_report_suspicion(&c);
    if (report) *report = c.report;
    return (agg_status)status;
}

/* ---- 15 what a host can ask ------------------------------------------------------------------ */

AGG_API const char *agg_status_text(agg_status s) {
#define AGG_X(id, text) text,
    static const char *const texts[] = {AGG_STATUS_LIST(AGG_X)};
#undef AGG_X
    return (unsigned)s < AGG_STATUS_COUNT ? texts[s] : "unknown status";
}

AGG_API const char *agg_rule_name(agg_rule rule) {
    return aggi_is_rule(rule) ? aggi_rules[rule].name : "unknown rule";
}

AGG_API const char *agg_rule_cost(agg_rule rule) {
    return aggi_is_rule(rule) ? aggi_rules[rule].cost : "unknown rule";
}

AGG_API const char *agg_pre_name(agg_pre pre) {
    return aggi_is_pre(pre) ? aggi_pres[pre].name : "unknown pre-aggregation";
}

AGG_API int agg_rule_is_order_optimal(agg_rule rule) {
    return aggi_is_rule(rule) && aggi_rules[rule].order_optimal;
}

AGG_API size_t agg_max_f(agg_rule rule, size_t n) {
    const aggi_bound *bound;
    if (!aggi_is_rule(rule) || (aggi_rules[rule].needs & AGGI_BASELINE)) return 0;
    bound = &aggi_rules[rule].bound;
    return n < bound->b ? 0 : (n - bound->b) / bound->a;
}

AGG_API double agg_lambda(agg_rule rule, size_t n, size_t f, size_t dim) {
    if (!aggi_is_rule(rule) || !aggi_rules[rule].lambda) return -1;
    if (!n || f > agg_max_f(rule, n)) return aggi_infinity();
    return aggi_rules[rule].lambda((double)n, (double)f, (double)dim);
}

AGG_API double agg_sample_complexity(agg_rule rule, double eps, size_t n, size_t f, size_t dim) {
    const double lambda = agg_lambda(rule, n, f, dim);
    if (lambda < 0) return -1;
    if (!(eps > 0) || !aggi_finite(lambda)) return aggi_infinity();
    return aggi_max(0, -aggi_log(eps)) / (eps * eps) *
           (1 / (double)n + lambda * lambda * aggi_log((double)n));
}

/* Rows as agg_resilience() has them, and the set G of those in question. */
typedef struct aggi_honest_set {
    const agg_real *const *row;
    size_t n, dim;
    uint64_t set; /* bit i: row i is in G */
} aggi_honest_set;

/* A sum of squares of any numbers in three parts by their size (Blue 1978): huge ones are summed
   2^-600 times as large, tiny ones 2^600 times. */
typedef struct aggi_norm {
    double huge_part, fair, tiny;
} aggi_norm;

/* adds v^2; shrunk: 2^-600 v, made so that it is finite even where v is not; grown: 2^600 v, made
   so that it has the bits that v has no room for, or not finite */
static void aggi_norm_add(aggi_norm *sum, double v, double shrunk, double grown) {
    const double most = aggi_pow2(480), least = aggi_pow2(-480);
    if (!aggi_finite(v) || aggi_abs(v) > most)
        sum->huge_part += aggi_squared(shrunk);
    else if (aggi_abs(v) < least)
        sum->tiny += aggi_squared(aggi_finite(grown) ? grown : v * aggi_pow2(600));
    else
        sum->fair += aggi_squared(v);
}

/* the fourth root of the sum; a part next to a larger one adds what it has of weight there */
static double aggi_norm_root(const aggi_norm *sum) {
    if (sum->huge_part > 0)
        return aggi_root0(aggi_root0(sum->huge_part + aggi_scaled(sum->fair, -1200))) *
               aggi_pow2(300);
    if (sum->fair > 0) return aggi_root0(aggi_root0(sum->fair + aggi_scaled(sum->tiny, -1200)));
    return aggi_root0(aggi_root0(sum->tiny)) * aggi_pow2(-300);
}

/* number k of (out - mean_G) x shrink x grow */
static double aggi_set_off(const aggi_honest_set *g, const agg_real *out, size_t k, double shrink,
                           double grow) {
    const double count = (double)aggi_popcount(g->set);
    const double base = (double)g->row[aggi_lowest(g->set)][k] * shrink;
    double off = ((double)out[k] * shrink - base) * grow;
    size_t i;
    for (i = 0; i < g->n; i++)
        if (g->set >> i & 1) off -= ((double)g->row[i][k] * shrink - base) * grow / count;
    return off;
}

/* sqrt(||out - mean_G||) */
static double aggi_set_error(const aggi_honest_set *g, const agg_real *out) {
    const double shrink = aggi_pow2(-600), grow = aggi_pow2(600);
    aggi_norm sum = {0, 0, 0};
    size_t k;
    for (k = 0; k < g->dim; k++)
        aggi_norm_add(&sum, aggi_set_off(g, out, k, 1, 1), aggi_set_off(g, out, k, shrink, 1),
                      aggi_set_off(g, out, k, 1, grow));
    return aggi_norm_root(&sum);
}

/* sqrt(||a - b||) */
static double aggi_root(const agg_real *a, const agg_real *b, size_t dim) {
    const double shrink = aggi_pow2(-600), grow = aggi_pow2(600);
    aggi_norm sum = {0, 0, 0};
    size_t k;
    for (k = 0; k < dim; k++) {
        const double x = (double)a[k], y = (double)b[k];
        aggi_norm_add(&sum, x - y, x * shrink - y * shrink, (x - y) * grow);
    }
    return aggi_norm_root(&sum);
}

/* root of the largest distance within G */
static double aggi_set_diameter(const aggi_honest_set *g) {
    double most = 0;
    size_t i, j;
    for (i = 0; i < g->n; i++)
        for (j = 0; j < i; j++)
            if (g->set >> i & g->set >> j & 1)
                most = aggi_max(most, aggi_root(g->row[i], g->row[j], g->dim));
    return most;
}

/* Gosper: the next larger number with as many ones */
static uint64_t aggi_next_set(uint64_t set) {
    const uint64_t low = set & (~set + 1), up = set + low;
    return ((up ^ set) >> 2) / low | up;
}

AGG_API agg_status agg_resilience(const agg_real *const *rows, size_t n, size_t dim, size_t f,
                                  const agg_real *out, double *ratio, uint64_t *worst) {
    aggi_honest_set g;
    double most = -1;
    size_t i;
    if (!rows || !out || !ratio || !n || !dim || n > 63) return AGG_ERR_ARG;
    if (f > (n - 1) / 2) return AGG_ERR_BOUND;
    for (i = 0; i < n; i++)
        if (!rows[i] || !aggi_all_finite(rows[i], dim)) return AGG_ERR_ROWS;
    if (!aggi_all_finite(out, dim)) return AGG_ERR_ARG;
    g.row = rows;
    g.n = n;
    g.dim = dim;
    for (g.set = ((uint64_t)1 << (n - f)) - 1; g.set >> n == 0; g.set = aggi_next_set(g.set)) {
        const double error = aggi_set_error(&g, out), diameter = aggi_set_diameter(&g);
        const double apart = diameter > 0 ? aggi_ratio(error, diameter) : aggi_infinity();
        const double here = error > 0 ? apart : 0;
        if (!(here > most)) continue;
        most = here;
        if (worst) *worst = g.set;
    }
    *ratio = most;
    return AGG_OK;
}

/* ---- 16 attacks ------------------------------------------------------------------------------ */

/* What the adversary knows while it makes number k of its row. */
typedef struct aggi_adversary {
    const agg_attack_desc *desc;
    const agg_real *const *honest;
    const agg_real *own;
    size_t honest_n, dim;
    double s;                     /* strength */
    double mine, mean, deviation; /* of number k: own, honest mean and standard deviation */
    double range;                 /* max own - min own */
} aggi_adversary;

/* Acklam's rational approximation, 1e-9: enough for attacks */
static double aggi_normal_quantile(double p) {
    static const double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,
                               -2.759285104469687e+02, 1.383577518672690e+02,
                               -3.066479806614716e+01, 2.506628277459239e+00};
    static const double b[] = {-5.447609879822406e+01, 1.615858368580409e+02,
                               -1.556989798598866e+02, 6.680131188771972e+01,
                               -1.328068155288572e+01, 1.0};
    static const double c[] = {-7.784894002430293e-03, -3.223964580411365e-01,
                               -2.400758277161838e+00, -2.549732539343734e+00,
                               4.374664141464968e+00,  2.938163982698783e+00};
    static const double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                               3.754408661907416e+00, 1.0};
    double num = 0, den = 0, x;
    int i;
    if (p > 0.5) return -aggi_normal_quantile(1 - p);
    p = aggi_max(p, 1e-300);
    if (p < 0.02425) {
        x = aggi_root0(-2 * aggi_log(p));
        for (i = 0; i < 6; i++) num = num * x + c[i];
        for (i = 0; i < 5; i++) den = den * x + d[i];
        return num / den;
    }
    x = p - 0.5;
    for (i = 0; i < 6; i++) num = num * x * x + a[i];
    for (i = 0; i < 6; i++) den = den * x * x + b[i];
    return x * num / den;
}

/* (0,1), never an end */
static double aggi_uniform(const agg_rng *rng) { return (aggi_draw53(rng) + 0.5) * AGGI_ULP53; }

static double aggi_flip(const aggi_adversary *a, size_t k) {
    (void)k;
    return -a->s * a->mine;
}

static double aggi_noise(const aggi_adversary *a, size_t k) {
    (void)k;
    return a->mine + a->s * a->range * (2 * aggi_uniform(&a->desc->rng) - 1);
}

static double aggi_gauss(const aggi_adversary *a, size_t k) {
    (void)k;
    return a->mine + a->s * aggi_normal_quantile(aggi_uniform(&a->desc->rng));
}

static double aggi_zero(const aggi_adversary *a, size_t k) {
    (void)a;
    (void)k;
    return 0;
}

static double aggi_ipm(const aggi_adversary *a, size_t k) {
    (void)k;
    return -a->s * a->mean;
}

static double aggi_alie(const aggi_adversary *a, size_t k) {
    (void)k;
    return a->mean - a->s * a->deviation;
}

static double aggi_mimic(const aggi_adversary *a, size_t k) {
    return (double)a->honest[a->desc->target][k];
}

static double aggi_inf(const aggi_adversary *a, size_t k) {
    (void)a;
    return k % 2 ? -aggi_infinity() : aggi_infinity();
}

static double aggi_nan(const aggi_adversary *a, size_t k) {
    (void)a;
    (void)k;
    return aggi_from_bits(AGGI_NAN);
}

/* What an attack looks at. */
enum {
    AGGI_OWN = 1,      /* own, and if there is none the honest mean */
    AGGI_RANGE = 2,    /* the range of own */
    AGGI_HONEST = 4,   /* mean and deviation of the honest rows */
    AGGI_TARGET = 8,   /* honest row desc.target */
    AGGI_RANDOM = 16,  /* desc.rng */
    AGGI_MAJORITY = 32 /* desc.n and desc.f, unless a strength is given */
};

/* A row for each attack, in the order of the enum; number makes number k of what is sent. A new one
   is a name at the end of agg_attack_kind, a row and a function. */
typedef struct aggi_attack {
    agg_attack_kind id;
    int reads;
    const char *name;
    double strength; /* by default; AGGI_MAJORITY: aggi_alie_z() */
    double (*number)(const aggi_adversary *a, size_t k);
} aggi_attack;

/* clang-format off */

static const aggi_attack aggi_attacks[] = {
    {AGG_ATTACK_SIGN_FLIP, AGGI_OWN,                            "sign flipping",  2.5, aggi_flip},
    {AGG_ATTACK_NOISE,     AGGI_OWN | AGGI_RANGE | AGGI_RANDOM, "random noise",   3.0, aggi_noise},
    {AGG_ATTACK_GAUSSIAN,  AGGI_OWN | AGGI_RANDOM,              "Gaussian noise", 1.0, aggi_gauss},
    {AGG_ATTACK_ZERO,      0,                                   "zero",           1.0, aggi_zero},
    {AGG_ATTACK_IPM,       AGGI_HONEST,                         "inner product",  0.5, aggi_ipm},
    {AGG_ATTACK_ALIE,      AGGI_HONEST | AGGI_MAJORITY,         "ALIE",           0.0, aggi_alie},
    {AGG_ATTACK_MIMIC,     AGGI_TARGET,                         "mimic",          1.0, aggi_mimic},
    {AGG_ATTACK_INF,       0,                                   "Inf",            1.0, aggi_inf},
    {AGG_ATTACK_NAN,       0,                                   "NaN",            1.0, aggi_nan},
};
typedef char
    aggi_every_attack[sizeof aggi_attacks / sizeof *aggi_attacks == AGG_ATTACK_COUNT ? 1 : -1];

/* clang-format on */

AGG_API const char *agg_attack_name(agg_attack_kind kind) {
    return (unsigned)kind < AGG_ATTACK_COUNT ? aggi_attacks[kind].name : "unknown attack";
}

/* does it look at the honest rows? */
static int aggi_reads_rows(int reads, const agg_real *own) {
    return (reads & (AGGI_HONEST | AGGI_TARGET)) || ((reads & AGGI_OWN) && !own);
}

/* How many deviations an adversary may stray so that, with the adversaries' help, it still looks
   like a majority: of n-f honest rows n/2+1-f must be farther out. Baruch et al. 2019. */
static double aggi_alie_z(size_t n, size_t f) {
    const double honest = (double)(n - f), needed = (double)(n / 2 + 1 - f);
    return aggi_normal_quantile((honest - needed) / honest);
}

static double aggi_strength(const agg_attack_desc *a) {
    const aggi_attack *kind = &aggi_attacks[a->kind];
    if (a->strength != 0) return a->strength;
    return kind->reads & AGGI_MAJORITY ? aggi_alie_z(a->n, a->f) : kind->strength;
}

static int aggi_all_there(const agg_real *const *rows, size_t n) {
    size_t i;
    for (i = 0; rows && i < n; i++)
        if (!rows[i]) return 0;
    return rows && n;
}

static agg_status aggi_attack_valid(const agg_attack_desc *a, const agg_real *const *honest,
                                    size_t honest_n, size_t dim, const agg_real *own,
                                    const agg_real *out) {
    int reads;
    if (!a || !out || !dim || (unsigned)a->kind >= AGG_ATTACK_COUNT || !aggi_finite(a->strength))
        return AGG_ERR_ARG;
    reads = aggi_attacks[a->kind].reads;
    if (aggi_reads_rows(reads, own) && !aggi_all_there(honest, honest_n)) return AGG_ERR_ARG;
    if ((reads & AGGI_TARGET) && a->target >= honest_n) return AGG_ERR_ARG;
    if ((reads & AGGI_MAJORITY) && a->strength == 0 && (!a->n || a->f > (a->n - 1) / 2))
        return AGG_ERR_BOUND;
    return (reads & AGGI_RANDOM) && !a->rng.next ? AGG_ERR_RNG : AGG_OK;
}

/* mean, deviation and mine of number k */
static void aggi_look(aggi_adversary *a, int reads, size_t k) {
    const double n = (double)a->honest_n;
    double sum = 0, squares = 0;
    size_t i;
    if ((reads & AGGI_HONEST) || ((reads & AGGI_OWN) && !a->own)) {
        for (i = 0; i < a->honest_n; i++) sum += (double)a->honest[i][k] / n;
        for (i = 0; i < a->honest_n; i++)
            squares += aggi_squared((double)a->honest[i][k] - sum) / n;
    }
    a->mean = sum;
    a->deviation = aggi_root0(squares);
    a->mine = a->own ? (double)a->own[k] : sum;
}

static double aggi_own_range(aggi_adversary *a, int reads) {
    double low = DBL_MAX, high = -DBL_MAX;
    size_t k;
    for (k = 0; k < a->dim; k++) {
        aggi_look(a, reads, k);
        low = aggi_min(low, a->mine);
        high = aggi_max(high, a->mine);
    }
    return high - low;
}

AGG_API agg_status agg_attack(const agg_attack_desc *a, const agg_real *const *honest,
                              size_t honest_n, size_t dim, const agg_real *own, agg_real *out) {
    const agg_status valid = aggi_attack_valid(a, honest, honest_n, dim, own, out);
    const aggi_attack *kind;
    aggi_adversary adversary;
    size_t k;
    if (valid != AGG_OK) return valid;
    kind = &aggi_attacks[a->kind];
    memset(&adversary, 0, sizeof adversary);
    adversary.desc = a;
    adversary.honest = honest;
    adversary.own = own;
    adversary.honest_n = honest_n;
    adversary.dim = dim;
    adversary.s = aggi_strength(a);
    if (kind->reads & AGGI_RANGE) adversary.range = aggi_own_range(&adversary, kind->reads);
    for (k = 0; k < dim; k++) {
        aggi_look(&adversary, kind->reads, k);
        out[k] = (agg_real)kind->number(&adversary, k);
    }
    return AGG_OK;
}

AGGI_END_CODE
#endif /* AGGREGATORS_IMPLEMENTATION */

/* CHANGELOG  the first number changes when your code may have to, the second when something is
   added or results get other bits, the third when neither. Both headers have one version.
   next            Distances of doubles that share a number of 1e168 and differ below 1e-140 are not
                   0 any more, nor is agg_resilience() of such rows; ties stay ties at any scale.
                   Giants and equal rows cost no more than other rows. Sums of squares have other
                   last bits. agg_scratch_size() gives other sizes.
   0.2.0 (2026-11) The words of the field: adversaries and attacks, pre-aggregations. New names:
                   agg_samples -> agg_sample_complexity, agg_rule_order_optimal ->
                   agg_rule_is_order_optimal; AGG_RULE_LIST and AGG_ATTACK_LIST are gone (ask
                   agg_rule_name() and agg_attack_name()). New: agg_pre_name(). AGG_NO_DISPATCH
                   serves both headers. Square roots are correctly rounded: some results in double
                   have other last bits. agg_scratch_size() gives other sizes.
   0.1.0 (2026-11) first release: the rules of the paper and their peers, pre-aggregations, attacks,
                   reports. Refuses to compile where arithmetic is not IEEE's (-ffast-math,
                   -funsafe-math-optimizations, the i387).

   LICENCE  choose one of the two

   A - MIT
   Copyright (c) 2026 the resnharpg authors
   Permission is hereby granted, free of charge, to any person obtaining a copy of this software
   and associated documentation files (the "Software"), to deal in the Software without
   restriction, including without limitation the rights to use, copy, modify, merge, publish,
   distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the
   Software is furnished to do so, subject to the following conditions:
   The above copyright notice and this permission notice shall be included in all copies or
   substantial portions of the Software.
   THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING
   BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
   NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM,
   DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
   OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.

   B - PUBLIC DOMAIN (Unlicense)
   This is free and unencumbered software released into the public domain. Anyone is free to
   copy, modify, publish, use, compile, sell, or distribute this software, either in source code
   form or as a compiled binary, for any purpose, commercial or non-commercial, and by any means.
   In jurisdictions that recognize copyright laws, the author or authors of this software
   dedicate any and all copyright interest in the software to the public domain. We make this
   dedication for the benefit of the public at large and to the detriment of our heirs and
   successors. We intend this dedication to be an overt act of relinquishment in perpetuity of
   all present and future rights to this software under copyright law.
   THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING
   BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
   NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
   LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
   CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE. */
