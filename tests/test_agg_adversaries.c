/* Attacks that optimise: each does what its definition says, and "worst" is about as strong as
   anything that free rows can do. */
#include "implementation.h"
#include "aggregators.h"
#include "greatest.h"
#include "common.h"

enum { N = 10, F = 3, H = N - F, DIM = 24, MEMORY = 4096 };

/* one adversary with all it may ask for */
typedef struct bench {
    rng random;
    rows honest;
    agg_desc rule;
    agg_attack_desc a;
    agg_attack_outcome outcome;
    agg_real *out;
} bench;

static void bench_shape(bench *b, size_t n, size_t f, size_t dim, uint64_t seed) {
    memset(b, 0, sizeof *b);
    b->random = rng_make(seed);
    b->honest = rows_new(n - f, dim);
    for (size_t k = 0; k < dim; k++) {
        const double truth = rng_normal(&b->random);
        for (size_t i = 0; i < n - f; i++)
            rows_at(&b->honest, i)[k] = (agg_real)(truth + rng_normal(&b->random));
    }
    b->rule = agg_make_desc(AGG_MDA, n, dim, f);
    b->a.n = n;
    b->a.f = f;
    b->a.rule = &b->rule;
    b->a.rng = rng_for_library(&b->random);
    b->a.memory = need(calloc(1, MEMORY));
    b->a.memory_size = MEMORY;
    b->a.outcome = &b->outcome;
    b->out = (agg_real *)need(calloc(dim, sizeof *b->out));
}

static void bench_free(bench *b) {
    free(b->a.memory);
    free(b->out);
    rows_free(&b->honest);
}

static agg_status bench_attack(bench *b, agg_attack_kind kind) {
    b->a.kind = kind;
    return run_attack(&b->a, b->honest.row, b->honest.n, b->honest.dim, NULL, b->out);
}

/* The same draws in every try, so that a rule with random numbers is a function of its rows, and
   what the attack saw of it is what the test sees. */
static void bench_draw_the_same(bench *b) {
    b->a.rng = rng_constant_for_library();
    b->rule.rng = b->a.rng;
}

static double mean_of(const bench *b, size_t k) {
    double sum = 0;
    for (size_t i = 0; i < b->honest.n; i++)
        sum += (double)b->honest.row[i][k] / (double)b->honest.n;
    return sum;
}

/* cosine to the honest mean of what the rule makes of the honest rows and f free ones */
static double cosine_of(const bench *b, const agg_real *const *adversaries, double *distance) {
    const size_t dim = b->honest.dim, n = b->rule.n, h = b->honest.n;
    const agg_real *x[32];
    agg_real out[64];
    double dot = 0, p = 0, q = 0;
    for (size_t i = 0; i < n; i++) x[i] = i < h ? b->honest.row[i] : adversaries[i - h];
    if (!wrote(run(&b->rule, x, out, NULL))) return 2;
    *distance = 0;
    for (size_t k = 0; k < dim; k++) {
        const double m = mean_of(b, k), r = (double)out[k];
        dot += m * r;
        p += m * m;
        q += r * r;
        *distance += (m - r) * (m - r);
    }
    *distance = sqrt(*distance);
    return p * q > 0 ? dot / sqrt(p * q) : 0;
}

static double cosine_of_row(const bench *b, const agg_real *row, double *distance) {
    const agg_real *same[32];
    for (size_t i = 0; i < 32; i++) same[i] = row;
    return cosine_of(b, same, distance);
}

static double apart(const agg_real *x, const agg_real *y, size_t dim) {
    double sum = 0;
    for (size_t k = 0; k < dim; k++) sum += pow((double)x[k] - (double)y[k], 2);
    return sqrt(sum);
}

/* farther: out moved away from the honest mean by 1 % */
static void farther(const bench *b, agg_real *to) {
    for (size_t k = 0; k < b->honest.dim; k++)
        to[k] = (agg_real)(1.01 * (double)b->out[k] - 0.01 * mean_of(b, k));
}

static double most_apart(const bench *b, const agg_real *x) {
    double most = 0;
    for (size_t i = 0; i < b->honest.n; i++)
        most = fmax(most, apart(x, b->honest.row[i], b->honest.dim));
    return most;
}

static double sum_apart(const bench *b, const agg_real *x) {
    double sum = 0;
    for (size_t i = 0; i < b->honest.n; i++)
        sum += pow(apart(x, b->honest.row[i], b->honest.dim), 2);
    return sum;
}

/* ---- attacks that stay inside ---- */
TEST min_max_ends_at_the_diameter(void) {
    for (size_t c = 0; c < 24; c++) {
        bench b;
        agg_real next[DIM];
        double diameter = 0;
        bench_shape(&b, N, F, DIM, c);
        b.a.direction = (agg_attack_direction)(c % AGG_DIRECTION_COUNT);
        if (c >= 12) b.a.rule = NULL;
        ASSERT_EQ(AGG_OK, bench_attack(&b, AGG_ATTACK_MIN_MAX));
        for (size_t i = 0; i < H; i++) diameter = fmax(diameter, most_apart(&b, b.honest.row[i]));
        ASSERT(most_apart(&b, b.out) <= diameter);
        farther(&b, next);
        ASSERT(most_apart(&b, next) > diameter);
        ASSERT_EQ_FMT(c >= 12 ? (size_t)0
                      : c % 4 ? (size_t)2
                              : (size_t)4,
                      b.outcome.evaluations, "%zu");
        bench_free(&b);
    }
    PASS();
}

TEST min_sum_ends_at_the_least_sum(void) {
    for (size_t c = 0; c < 24; c++) {
        bench b;
        agg_real next[DIM];
        double least = DBL_MAX;
        bench_shape(&b, N, F, DIM, 100 + c);
        b.a.direction = (agg_attack_direction)(c % AGG_DIRECTION_COUNT);
        ASSERT_EQ(AGG_OK, bench_attack(&b, AGG_ATTACK_MIN_SUM));
        for (size_t i = 0; i < H; i++) least = fmin(least, sum_apart(&b, b.honest.row[i]));
        ASSERT(sum_apart(&b, b.out) <= least);
        farther(&b, next);
        ASSERT(sum_apart(&b, next) > least);
        bench_free(&b);
    }
    PASS();
}

/* without a rule to try, the direction is -m */
TEST min_max_goes_against_the_mean(void) {
    bench b;
    double t;
    bench_shape(&b, N, F, DIM, 7);
    b.a.rule = NULL;
    ASSERT_EQ(AGG_OK, bench_attack(&b, AGG_ATTACK_MIN_MAX));
    t = (double)b.out[0] / mean_of(&b, 0);
    ASSERT(t < 1);
    for (size_t k = 0; k < DIM; k++) ASSERT_IN_RANGE(t * mean_of(&b, k), (double)b.out[k], 1e-5);
    bench_free(&b);
    PASS();
}

/* diameter of the set of rows in mask, DBL_MAX if it has not count of them */
static double set_diameter(const bench *b, unsigned mask, size_t count) {
    double most = 0;
    size_t have = 0;
    for (size_t i = 0; i < b->honest.n; i++) {
        if (!(mask >> i & 1)) continue;
        have++;
        for (size_t j = 0; j < i; j++)
            if (mask >> j & 1)
                most = fmax(most, apart(b->honest.row[i], b->honest.row[j], b->honest.dim));
    }
    return have == count ? most : DBL_MAX;
}

static void set_mean(const bench *b, unsigned mask, size_t count, double *mean) {
    for (size_t k = 0; k < b->honest.dim; k++) {
        mean[k] = 0;
        for (size_t i = 0; i < b->honest.n; i++)
            if (mask >> i & 1) mean[k] += (double)b->honest.row[i][k] / (double)count;
    }
}

/* within the diameter of the least set, which a brute force finds; 1 % further out is not; and MDA
   takes the adversaries */
TEST mda_is_fooled(void) {
    for (size_t c = 0; c < 32; c++) {
        const size_t f = 1 + c % 4, keep = N - 2 * f;
        const agg_real *x[N];
        bench b;
        agg_real next[DIM], out[DIM];
        double mean[DIM], least = DBL_MAX, now = 0, then = 0, share = 0;
        unsigned best = 0;
        agg_report report = report_new(N);
        bench_shape(&b, N, f, DIM, 200 + c);
        if (c >= 16) b.a.direction = (agg_attack_direction)(c % AGG_DIRECTION_COUNT);
        if (c < 8) b.a.rule = NULL;
        ASSERT_EQ(AGG_OK, bench_attack(&b, AGG_ATTACK_MDA_FOOLING));
        for (unsigned mask = 1; mask < 1u << b.honest.n; mask++)
            if (set_diameter(&b, mask, keep) < least) least = set_diameter(&b, best = mask, keep);
        set_mean(&b, best, keep, mean);
        for (size_t k = 0; k < DIM; k++)
            next[k] = (agg_real)(1.01 * (double)b.out[k] - 0.01 * mean[k]);
        for (size_t i = 0; i < b.honest.n; i++) {
            if (!(best >> i & 1)) continue;
            now = fmax(now, apart(b.out, b.honest.row[i], DIM));
            then = fmax(then, apart(next, b.honest.row[i], DIM));
        }
        ASSERT(now <= least * (1 + 1e-6) && then > least);
        for (size_t i = 0; i < N; i++) x[i] = i < b.honest.n ? b.honest.row[i] : b.out;
        ASSERT_EQ(AGG_OK, run(&b.rule, x, out, &report));
        for (size_t i = b.honest.n; i < N; i++) share += report.weight[i];
        ASSERT_IN_RANGE((double)f / (double)(N - f), share, 1e-9);
        report_free(&report);
        bench_free(&b);
    }
    PASS();
}

/* kept by CGE, all of them, and as long as can be */
TEST anti_cge_is_kept(void) {
    for (size_t c = 0; c < 16; c++) {
        bench b;
        const agg_real *x[N], zero[DIM] = {0};
        agg_real out[DIM];
        double share = 0, longer = 0;
        agg_report report = report_new(N);
        bench_shape(&b, N, 1 + c % 4, DIM, 300 + c);
        b.rule.rule = AGG_CGE;
        ASSERT_EQ(AGG_OK, bench_attack(&b, AGG_ATTACK_ANTI_CGE));
        for (size_t i = 0; i < N; i++) x[i] = i < b.honest.n ? b.honest.row[i] : b.out;
        ASSERT_EQ(AGG_OK, run(&b.rule, x, out, &report));
        for (size_t i = b.honest.n; i < N; i++) share += report.weight[i];
        ASSERT_IN_RANGE((double)b.a.f / (double)b.honest.n, share, 1e-9);
        for (size_t i = 0; i < b.honest.n; i++)
            longer += apart(x[i], zero, DIM) < 1.01 * apart(b.out, zero, DIM);
        ASSERT(longer > (double)(N - 2 * b.a.f)); /* 1 % longer is too long */
        report_free(&report);
        bench_free(&b);
    }
    PASS();
}

/* the rows around a part of their mean */
static void shrink_mean(bench *b, double part) {
    for (size_t k = 0; k < b->honest.dim; k++) {
        const double off = (1 - part) * mean_of(b, k);
        for (size_t i = 0; i < b->honest.n; i++) rows_at(&b->honest, i)[k] -= (agg_real)off;
    }
}

TEST krum_picks_fang(void) {
    for (size_t c = 0; c < 16; c++) {
        bench b;
        const agg_real *x[N];
        agg_real out[DIM];
        bench_shape(&b, N, 1 + c % 4, DIM, 400 + c);
        b.rule.rule = AGG_KRUM;
        shrink_mean(&b, 0.1); /* or even a row of 0 is too far off, and the attack gives up */
        if (c >= 8) b.a.rule = NULL;
        ASSERT_EQ(AGG_OK, bench_attack(&b, AGG_ATTACK_FANG_KRUM));
        for (size_t i = 0; i < N; i++) x[i] = i < b.honest.n ? b.honest.row[i] : b.out;
        ASSERT_EQ(AGG_OK, run(&b.rule, x, out, NULL));
        ASSERT(same_numbers(out, b.out, DIM));
        for (size_t k = 1; k < DIM; k++) /* L times signs */
            ASSERT_IN_RANGE(fabs((double)b.out[0]), fabs((double)b.out[k]), 0.0);
        bench_free(&b);
    }
    PASS();
}

/* a row so small that it is not worth halving any more */
TEST fang_krum_gives_up(void) {
    bench b;
    bench_shape(&b, N, F, 2, 5);
    for (size_t i = 0; i < H; i++)
        for (size_t k = 0; k < 2; k++) rows_at(&b.honest, i)[k] = (agg_real)(i ? 1 : 1.0001);
    b.a.rule = NULL;
    ASSERT_EQ(AGG_OK, bench_attack(&b, AGG_ATTACK_FANG_KRUM));
    ASSERT((double)b.out[0] < 0 && (double)b.out[0] > -1e-5);
    bench_free(&b);
    PASS();
}

/* ---- formulas ---- */
TEST fang_trim_is_in_its_intervals(void) {
    bench b;
    bench_shape(&b, N, F, 64, 8);
    for (int given = 0; given < 2; given++) {
        const double most = given ? 5 : 2;
        b.a.strength = given ? 5 : 0;
        ASSERT_EQ(AGG_OK, bench_attack(&b, AGG_ATTACK_FANG_TRIM));
        for (size_t k = 0; k < 64; k++) {
            const double m = mean_of(&b, k), x = (double)b.out[k];
            double low = DBL_MAX, high = -DBL_MAX, a, z;
            for (size_t i = 0; i < H; i++) {
                low = fmin(low, (double)b.honest.row[i][k]);
                high = fmax(high, (double)b.honest.row[i][k]);
            }
            a = m > 0 ? (low > 0 ? low / most : low * most) : high;
            z = m > 0 ? low : (high > 0 ? high * most : high / most);
            ASSERT(x >= a - 1e-6 && x <= z + 1e-6);
        }
    }
    bench_free(&b);
    PASS();
}

TEST mean_becomes_zero(void) {
    bench b;
    bench_shape(&b, N, F, DIM, 9);
    ASSERT_EQ(AGG_OK, bench_attack(&b, AGG_ATTACK_AVG_ZERO));
    for (size_t k = 0; k < DIM; k++)
        ASSERT_IN_RANGE(0.0, H * mean_of(&b, k) + F * (double)b.out[k], 1e-5);
    b.a.f = N; /* nobody is honest */
    ASSERT_EQ(AGG_ERR_BOUND, bench_attack(&b, AGG_ATTACK_AVG_ZERO));
    bench_free(&b);
    PASS();
}

TEST large_noise_fills_its_range(void) {
    bench b;
    double most = 0, sum = 0;
    bench_shape(&b, N, F, 500, 10);
    ASSERT_EQ(AGG_OK, bench_attack(&b, AGG_ATTACK_LARGE_NOISE));
    for (size_t k = 0; k < 500; k++) {
        most = fmax(most, fabs((double)b.out[k]));
        sum += (double)b.out[k] / 500;
    }
    ASSERT(most <= 1000 && most > 980 && fabs(sum) < 130);
    bench_free(&b);
    PASS();
}

/* floor(share dim) zeros, in any place, the rest is own */
TEST partial_drop_has_its_share(void) {
    static const double shares[] = {0, 0.3, 0.5, 1, 7, -1};
    size_t at[10] = {0};
    for (size_t c = 0; c < 600; c++) {
        const double share = shares[c % 6], used = c % 6 ? fmax(0, fmin(share, 1)) : 0.3;
        bench b;
        size_t zeros = 0;
        bench_shape(&b, N, F, 10, c);
        b.a.strength = share;
        b.a.kind = AGG_ATTACK_PARTIAL_DROP;
        ASSERT_EQ(AGG_OK, agg_attack(&b.a, NULL, 0, 10, b.honest.row[0], b.out));
        for (size_t k = 0; k < 10; k++) {
            const int is_zero = !(fabs((double)b.out[k]) > 0);
            zeros += (size_t)is_zero;
            if (is_zero)
                at[k] += used < 0.4 && used > 0;
            else
                ASSERT_IN_RANGE((double)b.honest.row[0][k], (double)b.out[k], 0.0);
        }
        ASSERT_EQ((size_t)(used * 10), zeros);
        bench_free(&b);
    }
    for (size_t k = 0; k < 10; k++) ASSERT(at[k] > 30 && at[k] < 90); /* of 200, 60 expected */
    PASS();
}

/* -s ||own|| step/||step||, at any scale; own where there is no step */
TEST blind_ipm_goes_back(void) {
    static const double scales[] = {1, 1e-30, 1e30};
    for (size_t c = 0; c < 9; c++) {
        bench b;
        agg_real step[DIM], own[DIM];
        double norm = 0, length = 0;
        bench_shape(&b, N, F, DIM, 500 + c);
        b.a.kind = AGG_ATTACK_BLIND_IPM;
        for (size_t k = 0; k < DIM; k++) {
            own[k] = (agg_real)((double)b.honest.row[0][k] * scales[c % 3]);
            step[k] = (agg_real)(rng_normal(&b.random) * scales[c / 3]);
            norm += pow((double)own[k], 2);
            length += pow((double)step[k], 2);
        }
        ASSERT_EQ(AGG_OK, agg_attack(&b.a, NULL, 0, DIM, own, b.out));
        ASSERT(same_bits(own, b.out, DIM));
        b.a.step = step;
        ASSERT_EQ(AGG_OK, agg_attack(&b.a, NULL, 0, DIM, own, b.out));
        for (size_t k = 0; k < DIM; k++) {
            const double want = -sqrt(norm) * (double)step[k] / sqrt(length);
            ASSERT_IN_RANGE(want, (double)b.out[k], 1e-5 * sqrt(norm));
        }
        memset(step, 0, sizeof step);
        ASSERT_EQ(AGG_OK, agg_attack(&b.a, NULL, 0, DIM, own, b.out));
        ASSERT(same_bits(own, b.out, DIM));
        bench_free(&b);
    }
    PASS();
}

/* out - last has norm z and is orthogonal to 0.9 last + 0.1 m */
TEST rop_is_orthogonal(void) {
    for (size_t c = 0; c < 8; c++) {
        bench b;
        agg_real last[DIM];
        double dot = 0, norm = 0, ones = 0;
        bench_shape(&b, N, F, DIM, 600 + c);
        b.a.strength = c % 2 ? 2.5 : 0;
        for (size_t k = 0; k < DIM; k++) last[k] = (agg_real)rng_normal(&b.random);
        b.a.last = last;
        ASSERT_EQ(AGG_OK, bench_attack(&b, AGG_ATTACK_ROP));
        for (size_t k = 0; k < DIM; k++) {
            const double off = (double)b.out[k] - (double)last[k];
            dot += off * (0.9 * (double)last[k] + 0.1 * mean_of(&b, k));
            norm += off * off;
            ones += off;
        }
        ASSERT_IN_RANGE(0.0, dot, 1e-4);
        ASSERT_IN_RANGE(c % 2 ? 2.5 : 0.180012369792705, sqrt(norm), 1e-5);
        ASSERT(ones < 0); /* 270 degrees */
        bench_free(&b);
    }
    PASS();
}

/* no last aggregate yet, or one that is not finite: the honest mean; one number: no room */
TEST rop_without_a_past(void) {
    bench b;
    agg_real last[DIM], first[DIM];
    bench_shape(&b, N, F, DIM, 11);
    ASSERT_EQ(AGG_OK, bench_attack(&b, AGG_ATTACK_ROP));
    memcpy(first, b.out, sizeof first);
    fill_number(last, DIM, (double)INFINITY);
    b.a.last = last;
    ASSERT_EQ(AGG_OK, bench_attack(&b, AGG_ATTACK_ROP));
    ASSERT(same_bits(first, b.out, DIM));
    bench_free(&b);
    bench_shape(&b, N, F, 1, 12);
    ASSERT_EQ(AGG_OK, bench_attack(&b, AGG_ATTACK_ROP));
    ASSERT_IN_RANGE(mean_of(&b, 0), (double)b.out[0], 1e-6);
    bench_free(&b);
    PASS();
}

/* ---- attacks with a past ---- */
typedef struct oja { /* the definition, plainly */
    double z[DIM], mu[DIM];
    size_t rounds;
} oja;

static void oja_normalise(double *v) {
    double norm = 0;
    for (size_t k = 0; k < DIM; k++) norm += v[k] * v[k];
    for (size_t k = 0; k < DIM; k++) v[k] /= sqrt(norm);
}

static double oja_dot(const oja *o, const agg_real *x) {
    double dot = 0;
    for (size_t k = 0; k < DIM; k++) dot += o->z[k] * ((double)x[k] - o->mu[k]);
    return dot;
}

static size_t oja_round(oja *o, const bench *b) {
    const double t = (double)o->rounds++;
    double sum[DIM] = {0};
    size_t best = 0;
    for (size_t k = 0; k < DIM; k++) o->mu[k] = (t * o->mu[k] + mean_of(b, k)) / (1 + t);
    for (size_t i = 0; i < H; i++)
        for (size_t k = 0; k < DIM; k++)
            sum[k] += oja_dot(o, b->honest.row[i]) * ((double)b->honest.row[i][k] - o->mu[k]);
    oja_normalise(sum);
    for (size_t k = 0; k < DIM; k++) o->z[k] = (t * o->z[k] + sum[k]) / (1 + t);
    oja_normalise(o->z);
    for (size_t i = 1; i < H; i++)
        if (oja_dot(o, b->honest.row[i]) > oja_dot(o, b->honest.row[best])) best = i;
    return best;
}

/* the same rows as the definition copies, round for round; from saved memory the same bits */
TEST online_mimic_follows_oja(void) {
    bench b;
    oja o;
    unsigned char saved[MEMORY + 1];
    agg_attack_desc drawn;
    agg_real z[DIM], zero[DIM] = {0};
    rng same;
    memset(&o, 0, sizeof o);
    memset(&drawn, 0, sizeof drawn);
    bench_shape(&b, N, F, DIM, 13);
    same = b.random;
    /* the normals that it draws at first */
    drawn.kind = AGG_ATTACK_GAUSSIAN;
    drawn.rng = rng_for_library(&same);
    ASSERT_EQ(AGG_OK, agg_attack(&drawn, NULL, 0, DIM, zero, z));
    for (size_t k = 0; k < DIM; k++) o.z[k] = (double)z[k];
    for (int round = 0; round < 20; round++) {
        agg_real first[DIM];
        void *memory = b.a.memory;
        const rng before = b.random;
        memcpy(saved + 1, b.a.memory, MEMORY);
        ASSERT_EQ(AGG_OK, bench_attack(&b, AGG_ATTACK_ONLINE_MIMIC));
        memcpy(first, b.out, sizeof first);
        ASSERT(same_bits(b.honest.row[oja_round(&o, &b)], b.out, DIM));
        b.random = before;
        b.a.memory = saved + 1; /* at an odd address */
        ASSERT_EQ(AGG_OK, bench_attack(&b, AGG_ATTACK_ONLINE_MIMIC));
        ASSERT(same_bits(first, b.out, DIM));
        ASSERT_MEM_EQ(memory, saved + 1, agg_attack_memory_size(&b.a, DIM));
        b.a.memory = memory;
        for (size_t i = 0; i < H; i++)
            for (size_t k = 0; k < DIM; k++)
                rows_at(&b.honest, i)[k] += (agg_real)(0.3 * rng_normal(&b.random));
    }
    bench_free(&b);
    PASS();
}

/* memory that cannot be is as none; equal rows have no direction */
TEST online_mimic_starts_afresh(void) {
    for (size_t bad = 0; bad < 4; bad++) {
        bench b, c;
        bench_shape(&b, N, F, DIM, 14);
        bench_shape(&c, N, F, DIM, 14);
        for (size_t i = 0; bad == 3 && i < H; i++) {
            fill_number(rows_at(&b.honest, i), DIM, 1);
            fill_number(rows_at(&c.honest, i), DIM, 1);
        }
        double *memory = (double *)c.a.memory;
        memory[0] = bad == 0 ? (double)NAN : 3;
        memory[1] = bad == 1 ? (double)INFINITY : 0;
        memory[1 + DIM] = bad == 2 ? (double)NAN : 0;
        if (bad == 3) memory[0] = 0;
        ASSERT_EQ(AGG_OK, bench_attack(&b, AGG_ATTACK_ONLINE_MIMIC));
        ASSERT_EQ(AGG_OK, bench_attack(&c, AGG_ATTACK_ONLINE_MIMIC));
        ASSERT(same_bits(b.out, c.out, DIM));
        ASSERT_MEM_EQ(b.a.memory, c.a.memory, agg_attack_memory_size(&b.a, DIM));
        bench_free(&b);
        bench_free(&c);
    }
    PASS();
}

/* ---- attacks that search ---- */
static double along(const bench *b, size_t direction, size_t k) {
    const double m = mean_of(b, k);
    double squares = 0;
    for (size_t i = 0; i < b->honest.n; i++)
        squares += pow((double)b->honest.row[i][k] - m, 2) / (double)b->honest.n;
    if (direction == AGG_DIRECTION_MEAN) return -m;
    if (direction == AGG_DIRECTION_DEVIATION) return -sqrt(squares);
    return m > 0 ? -1 : m < 0 ? 1 : 0;
}

/* the least cosine of 40 steps along a direction */
static double swept(const bench *b, size_t direction) {
    double norm = 0, usual = 0, least = 2, unused;
    agg_real x[DIM];
    const agg_real zero[DIM] = {0};
    for (size_t k = 0; k < DIM; k++) norm += pow(along(b, direction, k), 2);
    for (size_t i = 0; i < H; i++) usual += apart(b->honest.row[i], zero, DIM) / H;
    for (int i = 0; i < 40; i++) {
        const double t = 0.03 * pow(1000, i / 39.0) * usual / sqrt(norm);
        for (size_t k = 0; k < DIM; k++)
            x[k] = (agg_real)(mean_of(b, k) + t * along(b, direction, k));
        least = fmin(least, cosine_of_row(b, x, &unused));
    }
    return least;
}

TEST opt_cos_is_the_least_of_a_sweep(void) {
    static const agg_rule smooth[] = {AGG_CWTM, AGG_CWMED, AGG_GM, AGG_CCLIP, AGG_MEAN};
    for (size_t c = 0; c < 20; c++) {
        bench b;
        double want = 2, distance;
        bench_shape(&b, N, F, DIM, 700 + c);
        b.rule.rule = smooth[c % 5];
        b.a.direction = (agg_attack_direction)(c / 5);
        for (size_t d = 1; d < AGG_DIRECTION_COUNT; d++)
            if (c < 5 || d == c / 5) want = fmin(want, swept(&b, d));
        ASSERT_EQ(AGG_OK, bench_attack(&b, AGG_ATTACK_OPT_COS));
        ASSERT_IN_RANGE(want, b.outcome.cosine, 1e-4);
        ASSERT_IN_RANGE(b.outcome.cosine, cosine_of_row(&b, b.out, &distance), 1e-5);
        ASSERT_IN_RANGE(b.outcome.distance, distance, 1e-4 * distance);
        ASSERT_EQ_FMT(c < 5 ? (size_t)121 : (size_t)41, b.outcome.evaluations, "%zu");
        bench_free(&b);
    }
    PASS();
}

/* on a line, at least as far as any step of 1, 2, 4 .. directions */
TEST line_search_goes_far(void) {
    for (size_t r = 0; r < AGG_RULE_COUNT; r++)
        for (size_t d = 0; d < AGG_DIRECTION_COUNT; d++) {
            bench b;
            double distance, none;
            agg_real x[DIM];
            bench_shape(&b, 11, 2, DIM, 800 + r);
            b.rule.rule = rule_at(r);
            bench_draw_the_same(&b);
            b.a.direction = (agg_attack_direction)d;
            ASSERT_EQ(AGG_OK, bench_attack(&b, AGG_ATTACK_LINE_SEARCH));
            ASSERT_EQ_FMT(d ? (size_t)17 : (size_t)49, b.outcome.evaluations, "%zu");
            for (size_t k = 0; k < DIM; k++) x[k] = (agg_real)mean_of(&b, k);
            (void)cosine_of_row(&b, x, &none);
            (void)cosine_of_row(&b, b.out, &distance);
            if (distance < none * (1 - 1e-5))
                FAILm(WHY("%s %zu: %g, not %g", agg_rule_name(b.rule.rule), d, distance, none));
            for (size_t k = 0; d && d < AGG_DIRECTION_SIGN && k < DIM; k++)
                x[k] = (agg_real)(mean_of(&b, k) + along(&b, d, k));
            (void)cosine_of_row(&b, x, &none);
            if (distance < none * (1 - 1e-5))
                FAILm(WHY("%s %zu: %g, not %g", agg_rule_name(b.rule.rule), d, distance, none));
            bench_free(&b);
        }
    PASS();
}

/* the mean gives way as far as the doubling gets: 2^15 - 1 times -m */
TEST line_search_doubles(void) {
    bench b;
    bench_shape(&b, N, F, DIM, 15);
    b.rule = agg_make_desc(AGG_MEAN, N, DIM, 0);
    b.a.direction = AGG_DIRECTION_MEAN;
    ASSERT_EQ(AGG_OK, bench_attack(&b, AGG_ATTACK_LINE_SEARCH));
    for (size_t k = 0; k < DIM; k++) ASSERT_IN_RANGE(-32766 * mean_of(&b, k), (double)b.out[k], 1);
    bench_free(&b);
    PASS();
}

TEST normalised_attack_turns(void) {
    double turned = 0;
    static const agg_rule rules[] = {AGG_CWTM, AGG_CWMED, AGG_GM, AGG_MEAMED, AGG_MEAN};
    for (size_t c = 0; c < 20; c++) {
        bench b;
        double honest, attacked, distance;
        agg_real x[DIM];
        bench_shape(&b, N, F, DIM, 900 + c);
        b.rule.rule = rules[c % 5];
        b.a.direction = (agg_attack_direction)(c / 5);
        for (size_t k = 0; k < DIM; k++) x[k] = (agg_real)mean_of(&b, k);
        honest = cosine_of_row(&b, x, &distance);
        ASSERT_EQ(AGG_OK, bench_attack(&b, AGG_ATTACK_NORMALISED));
        attacked = cosine_of_row(&b, b.out, &distance);
        ASSERT_EQ_FMT((size_t)22, b.outcome.evaluations, "%zu");
        turned += honest - attacked;
        bench_free(&b);
    }
    ASSERT(turned / 20 > 0.2);
    PASS();
}

/* ---- the strongest ---- */
enum { MOST_EVALUATIONS = 560 };

static agg_desc pipeline(size_t c, size_t n, size_t f, size_t dim, const agg_desc *like) {
    agg_desc d = agg_make_desc(rule_at(c % AGG_RULE_COUNT), n, dim, f);
    d.pre[0] = (agg_pre)(c / AGG_RULE_COUNT);
    d.bucket = 1;
    d.clip = 3;
    d.rng = like->rng;
    return d;
}

/* no kind is stronger, by either measure, for any rule after any pre-aggregation */
TEST worst_is_the_worst(void) {
    for (size_t c = 0; c < AGG_RULE_COUNT * AGG_PRE_COUNT; c++) {
        bench b;
        double cosine, distance;
        bench_shape(&b, 11, 2, 8, 1000 + c);
        bench_draw_the_same(&b);
        b.rule = pipeline(c, 11, 2, 8, &b.rule);
        b.a.by_distance = c % 2 ? 1 : 0;
        ASSERT_EQ(AGG_OK, bench_attack(&b, AGG_ATTACK_WORST));
        ASSERT(b.outcome.evaluations <= MOST_EVALUATIONS);
        cosine = b.outcome.cosine;
        distance = b.outcome.distance;
        for (int kind = 0; kind < AGG_ATTACK_WORST; kind++) {
            if (kind == AGG_ATTACK_NAN || kind == AGG_ATTACK_INF) continue;
            if (kind == AGG_ATTACK_ONLINE_MIMIC) continue; /* not tried: it would learn */
            ASSERT_EQ(AGG_OK, bench_attack(&b, (agg_attack_kind)kind));
            double far;
            const double here = cosine_of_row(&b, b.out, &far);
            if (b.a.by_distance ? far > distance * (1 + 1e-5) : here < cosine - 1e-5)
                FAILm(WHY("%s after %s: %s has %g, %g, worst %g, %g", agg_rule_name(b.rule.rule),
                          agg_pre_name(b.rule.pre[0]), agg_attack_name((agg_attack_kind)kind), here,
                          far, cosine, distance));
        }
        bench_free(&b);
    }
    PASS();
}

/* f free rows climb from where they like; the strongest cosine or distance of all starts */
static double climbed(bench *b, const agg_real *seed) {
    const size_t dim = b->honest.dim, f = b->a.f;
    agg_real x[4][4];
    const agg_real *row[4] = {x[0], x[1], x[2], x[3]};
    double best = 3, distance;
    for (int start = 0; start < 5; start++) {
        double here, step = 3;
        for (size_t i = 0; i < f; i++)
            for (size_t k = 0; k < dim; k++)
                x[i][k] = start ? (agg_real)(4 * rng_normal(&b->random)) : seed[k];
        here = cosine_of(b, row, &distance);
        for (int try_ = 0; try_ < 900; try_++, step = try_ % 60 ? step * 0.93 : 3) {
            agg_real was[4][4];
            memcpy(was, x, sizeof was);
            for (size_t i = 0; i < f; i++)
                for (size_t k = 0; k < dim; k++)
                    x[i][k] += (agg_real)(step * rng_normal(&b->random));
            const double now = cosine_of(b, row, &distance);
            if (now <= here)
                here = now;
            else
                memcpy(x, was, sizeof was);
        }
        best = fmin(best, here);
    }
    return best;
}

/* Free rows, each of its own, find little that "worst" does not: the part of the way from the
   unattacked cosine 1 to the climbers' that it goes, on average of cases, for each rule. */
TEST nobody_climbs_much_higher(void) {
    double least = 2, sum = 0;
    size_t count = 0;
    for (size_t r = 0; r < AGG_RULE_COUNT; r++) {
        double mine = 0, theirs = 0;
        if (rule_at(r) == AGG_BULYAN || rule_at(r) == AGG_MEAN) continue;
        if (rule_at(r) == AGG_DNC) continue; /* see a_decoy_hides_another_from_dnc */
        for (size_t c = 0; c < rounds(3); c++) {
            bench b;
            bench_shape(&b, 5 + c % 3, 1 + (c % 3) / 2, 2 + c % 2, 2000 + c);
            b.rule.rule = rule_at(r);
            bench_draw_the_same(&b);
            ASSERT_EQ(AGG_OK, bench_attack(&b, AGG_ATTACK_WORST));
            mine += 1 - b.outcome.cosine;
            theirs += 1 - climbed(&b, b.out);
            bench_free(&b);
        }
        printf("%s: worst turns %.3f of what free rows do\n", agg_rule_name(rule_at(r)),
               mine / theirs);
        least = fmin(least, mine / theirs);
        sum += mine / theirs;
        count++;
    }
    printf("all rules: %.3f, the least %.3f\n", sum / (double)count, least);
    ASSERT(least > 0.5 && sum / (double)count > 0.8);
    PASS();
}

/* Two rows of their own each can do what no row sent twice can: DnC throws out the f rows that are
   off most along one direction, and the decoy is that direction. */
TEST a_decoy_hides_another_from_dnc(void) {
    for (int alike = 0; alike < 2; alike++) {
        bench b;
        agg_real decoy[4] = {0, 1000000, 0, 0}, hidden[4] = {10000, 1000, 0, 0};
        const agg_real *two[2] = {alike ? hidden : decoy, hidden};
        double distance;
        bench_shape(&b, 9, 2, 4, 23);
        b.rule.rule = AGG_DNC;
        b.rule.share = 1;
        (void)cosine_of(&b, two, &distance);
        ASSERT(alike ? distance < 1 : distance > 1e3);
        bench_free(&b);
    }
    PASS();
}

/* ---- what is odd or wrong ---- */
/* any layout of rows, any knowledge: AGG_OK and finite numbers */
TEST hostile_rows_end_finite(void) {
    rng r = rng_make(16);
    for (size_t l = 0; l < LAYOUT_COUNT; l++)
        for (size_t c = 0; c < 4; c++) {
            static const size_t dims[] = {1, 5, 8, 3};
            bench b;
            bench_shape(&b, N, F, dims[c], 17);
            fill_rows(&b.honest, (layout)l, &r);
            if (c == 3) b.honest.n = 1; /* it knows its own row alone */
            b.rule.rule = c % 2 ? AGG_CWTM : AGG_KRUM;
            for (int kind = AGG_ATTACK_LINE_SEARCH; kind < AGG_ATTACK_COUNT; kind++) {
                ASSERT_EQ(AGG_OK, bench_attack(&b, (agg_attack_kind)kind));
                if (!all_finite(b.out, dims[c]))
                    FAILm(WHY("%s: %s", layout_name((layout)l),
                              agg_attack_name((agg_attack_kind)kind)));
            }
            bench_free(&b);
        }
    PASS();
}

/* rows all 0, or whose mean is 0: there is no direction, but a row */
TEST no_direction_is_no_harm(void) {
    for (int zero = 0; zero < 2; zero++) {
        bench b;
        bench_shape(&b, 7, 1, 4, 18);
        for (size_t i = 0; i < 6; i++)
            fill_number(rows_at(&b.honest, i), 4, zero ? 0 : i % 2 ? 1 : -1);
        for (int kind = 0; kind < AGG_ATTACK_COUNT; kind++) {
            if (kind == AGG_ATTACK_NAN || kind == AGG_ATTACK_INF) continue;
            ASSERT_EQ(AGG_OK, bench_attack(&b, (agg_attack_kind)kind));
            ASSERTm(agg_attack_name((agg_attack_kind)kind), all_finite(b.out, 4));
        }
        bench_free(&b);
    }
    PASS();
}

/* rows that are not finite are as if not seen; if all are, there is nothing to go by */
TEST rows_that_are_not_finite(void) {
    bench b, c;
    bench_shape(&b, N, F, DIM, 19);
    bench_shape(&c, N, F, DIM, 19);
    rows_at(&b.honest, 6)[3] = (agg_real)NAN;
    c.honest.n = 6;
    ASSERT_EQ(AGG_OK, bench_attack(&b, AGG_ATTACK_OPT_COS));
    ASSERT_EQ(AGG_OK, bench_attack(&c, AGG_ATTACK_OPT_COS));
    ASSERT(same_bits(b.out, c.out, DIM));
    memset(b.out, CANARY, DIM * sizeof *b.out);
    memcpy(c.out, b.out, DIM * sizeof *b.out);
    for (size_t i = 0; i < H; i++) rows_at(&b.honest, i)[0] = (agg_real)INFINITY;
    ASSERT_EQ(AGG_ERR_ROWS, bench_attack(&b, AGG_ATTACK_OPT_COS));
    ASSERT_MEM_EQ(c.out, b.out, DIM * sizeof *b.out);
    bench_free(&b);
    bench_free(&c);
    PASS();
}

TEST misuse(void) {
    bench b;
    bench_shape(&b, N, F, DIM, 20);
    b.a.direction = AGG_DIRECTION_COUNT;
    ASSERT_EQ(AGG_ERR_ARG, bench_attack(&b, AGG_ATTACK_MIN_MAX));
    b.a.direction = AGG_DIRECTION_ALL;
    b.rule.dim = DIM - 1;
    ASSERT_EQ(AGG_ERR_ARG, bench_attack(&b, AGG_ATTACK_WORST));
    ASSERT_EQ((size_t)0, agg_attack_scratch_size(&b.a, H, DIM));
    b.rule.dim = DIM;
    b.a.n = N + 1;
    ASSERT_EQ(AGG_ERR_ARG, bench_attack(&b, AGG_ATTACK_WORST));
    b.a.n = 0;
    b.a.f = N;
    ASSERT_EQ(AGG_ERR_BOUND, bench_attack(&b, AGG_ATTACK_WORST));
    b.a.f = b.rule.f = 0;
    ASSERT_EQ(AGG_ERR_BOUND, bench_attack(&b, AGG_ATTACK_WORST));
    b.rule.f = 5;
    ASSERT_EQ(AGG_ERR_BOUND, bench_attack(&b, AGG_ATTACK_WORST)); /* MDA's own */
    b.rule.rule = AGG_MEAN;
    b.rule.f = 0;
    b.a.f = 6; /* most of them: what needs a minority is left out */
    ASSERT_EQ(AGG_OK, bench_attack(&b, AGG_ATTACK_WORST));
    ASSERT_EQ(AGG_ERR_BOUND, bench_attack(&b, AGG_ATTACK_FANG_KRUM));
    b.a.f = 0;
    b.rule.f = F;
    b.rule.rule = AGG_MONNA;
    b.rule.pivot = N - 1; /* counts as an honest one */
    ASSERT_EQ(AGG_OK, bench_attack(&b, AGG_ATTACK_WORST));
    ASSERT(b.outcome.cosine < 1 && b.outcome.cosine > -1.001);
    b.rule.pre[0] = AGG_PRE_BUCKETING;
    b.rule.bucket = 1;
    b.rule.rng = b.a.rng; /* the server's, which nobody knows */
    b.a.rng.next = NULL;
    ASSERT_EQ(AGG_ERR_RNG, bench_attack(&b, AGG_ATTACK_WORST));
    bench_free(&b);
    PASS();
}

/* the desc is fine, but each call fails: the trusted row, or the start, is not finite */
TEST rules_that_refuse_every_try(void) {
    for (int rule = 0; rule < 2; rule++) {
        bench b;
        agg_real bad[DIM];
        bench_shape(&b, N, F, DIM, 24);
        fill_number(bad, DIM, (double)NAN);
        b.rule.rule = rule ? AGG_FLTRUST : AGG_CCLIP;
        b.rule.start = b.rule.trusted = bad;
        for (int kind = AGG_ATTACK_LINE_SEARCH; kind < AGG_ATTACK_COUNT; kind++) {
            ASSERT_EQ(AGG_OK, bench_attack(&b, (agg_attack_kind)kind));
            ASSERTm(agg_attack_name((agg_attack_kind)kind), all_finite(b.out, DIM));
            ASSERT_EQ((size_t)0, b.outcome.evaluations);
        }
        ASSERT(same_bits(b.honest.row[0], b.out, DIM));
        ASSERT_EQ(AGG_ATTACK_WORST, b.outcome.kind);
        bench_free(&b);
    }
    PASS();
}

/* more rows than worst copies and climbs along; as many adversaries as can be */
TEST many_and_few(void) {
    bench b;
    bench_shape(&b, 41, 1, 3, 25);
    b.rule.rule = AGG_CWTM;
    ASSERT_EQ(AGG_OK, bench_attack(&b, AGG_ATTACK_WORST));
    ASSERT(b.outcome.evaluations <= MOST_EVALUATIONS && b.outcome.cosine < 1);
    bench_free(&b);
    bench_shape(&b, 7, 3, 3, 26);
    b.a.rule = NULL;
    ASSERT_EQ(AGG_OK, bench_attack(&b, AGG_ATTACK_FANG_KRUM));
    b.a.f = 0;
    ASSERT_EQ(AGG_ERR_BOUND, bench_attack(&b, AGG_ATTACK_FANG_KRUM));
    bench_free(&b);
    PASS();
}

/* rows of zeros have no size: what an online mimic knows is not taken for nonsense beside them */
TEST zeros_do_not_erase_a_memory(void) {
    double rounds_, length = 0, z;
    bench b;
    bench_shape(&b, N, F, DIM, 13);
    for (int round = 1; round <= 6; round++) {
        for (size_t i = 0; i < b.honest.n; i++)
            for (size_t k = 0; k < DIM; k++)
                rows_at(&b.honest, i)[k] = (agg_real)(round == 5 ? 0 : rng_normal(&b.random));
        ASSERT_EQ(AGG_OK, bench_attack(&b, AGG_ATTACK_ONLINE_MIMIC));
        memcpy(&rounds_, b.a.memory, sizeof rounds_);
        ASSERT_EQ(round, (int)rounds_);
    }
    for (size_t k = 0; k < DIM; k++) {
        memcpy(&z, (unsigned char *)b.a.memory + (1 + DIM + k) * sizeof z, sizeof z);
        length += z * z;
    }
    ASSERT_IN_RANGE(1, length, 1e-6);
    bench_free(&b);
    PASS();
}

TEST sizes(void) {
    const size_t most = (size_t)-1;
    bench b;
    agg_real out = 0;
    const agg_real *one[1] = {&out};
    char byte;
    bench_shape(&b, N, F, 1, 21);
    b.a.kind = AGG_ATTACK_ONLINE_MIMIC;
    ASSERT_EQ(17 * sizeof(double), agg_attack_memory_size(&b.a, 8));
    ASSERT_EQ((size_t)0, agg_attack_memory_size(&b.a, most / 8));
    ASSERT_EQ((size_t)0, agg_attack_memory_size(NULL, 8));
    ASSERT_EQ((size_t)0, agg_attack_scratch_size(NULL, 3, 8));
    b.a.kind = AGG_ATTACK_MIN_MAX;
    b.a.rule = NULL;
    ASSERT_EQ((size_t)0, agg_attack_scratch_size(&b.a, 0, 8));
    ASSERT_EQ((size_t)0, agg_attack_scratch_size(&b.a, 3, 0));
    ASSERT_EQ((size_t)0, agg_attack_scratch_size(&b.a, 3, most / 2));
    ASSERT_EQ((size_t)0, agg_attack_scratch_size(&b.a, most / 2, 3));
    b.a.n = most; /* more rows than there is memory for */
    b.a.scratch = &byte;
    b.a.scratch_size = 1;
    ASSERT_EQ(AGG_ERR_SIZE, agg_attack(&b.a, one, 1, 1, NULL, &out));
    b.a.kind = AGG_ATTACK_COUNT;
    ASSERT_EQ((size_t)0, agg_attack_scratch_size(&b.a, 3, 8));
    ASSERT_EQ((size_t)0, agg_attack_memory_size(&b.a, 8));
    bench_free(&b);
    PASS();
}

/* own is used where it is given, and may be out */
TEST worst_may_write_over_own(void) {
    bench b;
    agg_real own[DIM], out[DIM];
    char *scratch;
    size_t size;
    bench_shape(&b, N, F, DIM, 22);
    b.a.kind = AGG_ATTACK_WORST;
    size = agg_attack_scratch_size(&b.a, H, DIM);
    scratch = (char *)need(malloc(size));
    b.a.scratch = scratch;
    b.a.scratch_size = size;
    for (size_t k = 0; k < DIM; k++) own[k] = (agg_real)rng_normal(&b.random);
    const rng same = b.random;
    ASSERT_EQ(AGG_OK, agg_attack(&b.a, b.honest.row, H, DIM, own, out));
    b.random = same;
    ASSERT_EQ(AGG_OK, agg_attack(&b.a, b.honest.row, H, DIM, own, own));
    ASSERT(same_bits(own, out, DIM));
    free(scratch);
    bench_free(&b);
    PASS();
}

SUITE(adversaries) {
    RUN_TEST(min_max_ends_at_the_diameter);
    RUN_TEST(min_sum_ends_at_the_least_sum);
    RUN_TEST(min_max_goes_against_the_mean);
    RUN_TEST(mda_is_fooled);
    RUN_TEST(anti_cge_is_kept);
    RUN_TEST(krum_picks_fang);
    RUN_TEST(fang_krum_gives_up);
    RUN_TEST(fang_trim_is_in_its_intervals);
    RUN_TEST(mean_becomes_zero);
    RUN_TEST(large_noise_fills_its_range);
    RUN_TEST(partial_drop_has_its_share);
    RUN_TEST(blind_ipm_goes_back);
    RUN_TEST(rop_is_orthogonal);
    RUN_TEST(rop_without_a_past);
    RUN_TEST(online_mimic_follows_oja);
    RUN_TEST(online_mimic_starts_afresh);
    RUN_TEST(opt_cos_is_the_least_of_a_sweep);
    RUN_TEST(line_search_goes_far);
    RUN_TEST(line_search_doubles);
    RUN_TEST(normalised_attack_turns);
    RUN_TEST(worst_is_the_worst);
    RUN_TEST(nobody_climbs_much_higher);
    RUN_TEST(a_decoy_hides_another_from_dnc);
    RUN_TEST(hostile_rows_end_finite);
    RUN_TEST(no_direction_is_no_harm);
    RUN_TEST(rows_that_are_not_finite);
    RUN_TEST(misuse);
    RUN_TEST(rules_that_refuse_every_try);
    RUN_TEST(many_and_few);
    RUN_TEST(zeros_do_not_erase_a_memory);
    RUN_TEST(sizes);
    RUN_TEST(worst_may_write_over_own);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(adversaries);
    GREATEST_MAIN_END();
}
