/* Random numbers, schedules and the theory of resnharpg.h by hand numbers. */
#include "implementation.h"
#include "resnharpg.h"
#include "greatest.h"
#include "common.h"

static int near(double got, double want) { return fabs(got - want) <= 1e-12 * fabs(want); }

/* ---- random numbers */
/* state 1, 2, 3, 4: the first outputs of the published algorithm */
TEST generator_is_xoshiro(void) {
    static const uint64_t want[10] = {11520u,
                                      0u,
                                      1509978240u,
                                      1215971899390074240u,
                                      1216172134540287360u,
                                      607988272756665600u,
                                      UINT64_C(16172922978634559625),
                                      UINT64_C(8476171486693032832),
                                      UINT64_C(10595114339597558777),
                                      2904607092377533576u};
    rn_random r;
    for (int i = 0; i < 4; i++) r.s[i] = (uint64_t)(i + 1);
    for (int i = 0; i < 10; i++) ASSERT(rn_random_next(&r) == want[i]);
    PASS();
}

TEST streams_differ(void) {
    enum { STREAMS = 40, DRAWS = 25 };

    static uint64_t seen[2 * STREAMS * DRAWS];
    size_t n = 0;
    for (uint64_t seed = 0; seed < 2; seed++)
        for (uint32_t s = 0; s < STREAMS; s++) {
            rn_random r = rn_make_random(seed, s), copy = rn_make_random(seed, s);
            const agg_rng callback = rn_random_rng(&copy);
            for (int i = 0; i < DRAWS; i++) {
                seen[n] = rn_random_next(&r);
                ASSERT(callback.next(callback.self) == seen[n]);
                n++;
            }
        }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) ASSERT(seen[i] != seen[j]);
    PASS();
}

/* Stream k is the sequence jumped k 2^128 steps ahead: here by squaring the generator's 256 x 256
   bit matrix 128 times. */
static rn_random times(const rn_random *columns, const rn_random *x) {
    rn_random y = {{0, 0, 0, 0}};
    for (int i = 0; i < 256; i++)
        if ((x->s[i / 64] >> (i % 64)) & 1u)
            for (int k = 0; k < 4; k++) y.s[k] ^= columns[i].s[k];
    return y;
}

TEST streams_are_jumps(void) {
    static rn_random matrix[256], squared[256];
    rn_random now = rn_make_random(17, 0);
    for (int i = 0; i < 256; i++) {
        memset(&matrix[i], 0, sizeof matrix[i]);
        matrix[i].s[i / 64] = (uint64_t)1 << (i % 64);
        (void)rn_random_next(&matrix[i]);
    }
    for (int k = 0; k < 128; k++) {
        for (int i = 0; i < 256; i++) squared[i] = times(matrix, &matrix[i]);
        memcpy(matrix, squared, sizeof matrix);
    }
    for (uint32_t stream = 1; stream < 5; stream++) {
        const rn_random want = rn_make_random(17, stream);
        now = times(matrix, &now);
        ASSERT(memcmp(&now, &want, sizeof now) == 0);
    }
    /* by 1 + 2 + 4 .. + 2^31: the last stream is as near as the first */
    now = rn_make_random(17, 0);
    for (int k = 0; k < 32; k++) {
        now = times(matrix, &now);
        for (int i = 0; i < 256; i++) squared[i] = times(matrix, &matrix[i]);
        memcpy(matrix, squared, sizeof matrix);
    }
    {
        const rn_random want = rn_make_random(17, 0xffffffffu);
        ASSERT(memcmp(&now, &want, sizeof now) == 0);
    }
    PASS();
}

typedef struct counter {
    uint64_t next, step;
} counter;

static uint64_t counter_next(void *self) {
    counter *c = (counter *)self;
    const uint64_t x = c->next;
    c->next += c->step;
    return x;
}

/* rn_draw_below(n) must use exactly floor(2^64/n) draws for each value. All 2^64 draws cannot be
   tried: but runs of draws at both ends, where the unfair ones are, can. */
TEST below_is_exactly_uniform(void) {
    for (uint64_t n = 1; n <= 70; n++) {
        const uint64_t left = (uint64_t)(-n) % n; /* 2^64 mod n draws must be thrown away */
        counter c;
        agg_rng r;
        size_t count[70] = {0};
        uint64_t taken = 0;
        r.next = counter_next;
        r.self = &c;
        c.step = 1;
        /* the last draws and, around the corner, the first: 70 n + left */
        c.next = (uint64_t)0 - 35 * n - left;
        while (c.next != 35 * n) {
            const size_t k = rn_draw_below(&r, (size_t)n);
            ASSERT(k < n);
            /* it ran over the end of the window */
            if (c.next > 35 * n && c.next < (uint64_t)0 - 36 * n) break;
            count[k]++;
            taken++;
        }
        ASSERT_EQ(70 * n, taken); /* of 70 n + left draws exactly `left` were thrown away, */
        /* and every value came as often */
        for (uint64_t k = 0; k < n; k++) ASSERT_EQ((size_t)70, count[k]);
    }
    PASS();
}

TEST below_a_power_of_two_throws_nothing_away(void) {
    counter c = {0, UINT64_C(1) << 56};
    agg_rng r;
    size_t count[8] = {0};
    r.next = counter_next;
    r.self = &c;
    for (int i = 0; i < 256; i++) count[rn_draw_below(&r, 8)]++;
    ASSERT_EQ((uint64_t)0, c.next);
    ASSERT_EQ((size_t)256, count[0]); /* the low bits decide: multiples of 2^56 */
    PASS();
}

TEST uniform_has_53_bits(void) {
    counter c = {0, 0};
    agg_rng r;
    r.next = counter_next;
    r.self = &c;
    ASSERT(rn_draw_uniform(&r) <= 0 && rn_draw_uniform(&r) >= 0);
    c.next = (uint64_t)-1;
    ASSERT(rn_draw_uniform(&r) < 1 && rn_draw_uniform(&r) >= 1 - 0x1p-53);
    c.next = UINT64_C(1) << 63;
    ASSERT(rn_draw_uniform(&r) >= 0.5 && rn_draw_uniform(&r) <= 0.5);
    c.next = UINT64_C(1) << 11;
    ASSERT(rn_draw_uniform(&r) >= 0x1p-53 && rn_draw_uniform(&r) <= 0x1p-53);
    c.next = (UINT64_C(1) << 11) - 1;
    ASSERT(rn_draw_uniform(&r) <= 0);
    PASS();
}

/* within 5 standard deviations */
TEST normal_has_its_moments(void) {
    rn_random random = rn_make_random(5, 0);
    const agg_rng r = rn_random_rng(&random);
    const size_t n = rounds(400000);
    const double root = 5 / sqrt((double)n);
    double sum[4] = {0}, serial = 0, last = 0;
    size_t tail = 0;
    for (size_t i = 0; i < n; i++) {
        const double z = rn_draw_normal(&r);
        for (int k = 0; k < 4; k++) sum[k] += pow(z, k + 1) / (double)n;
        serial += z * last / (double)n;
        last = z;
        tail += fabs(z) > 1.959963984540054;
    }
    ASSERT(fabs(sum[0]) < root);
    ASSERT(fabs(sum[1] - 1) < root * sqrt(2.0));
    ASSERT(fabs(sum[2]) < root * sqrt(15.0));
    ASSERT(fabs(sum[3] - 3) < root * sqrt(96.0));
    ASSERT(fabs(serial) < root);
    ASSERT(fabs((double)tail / (double)n - 0.05) < root * sqrt(0.05 * 0.95));
    PASS();
}

TEST normal_is_finite_at_the_corners(void) {
    counter c = {0, 0};
    agg_rng r;
    r.next = counter_next;
    r.self = &c;
    ASSERT(fabs(rn_draw_normal(&r)) <= 0);
    c.next = (uint64_t)-1; /* 1 - u = 2^-53 */
    ASSERT(near(fabs(rn_draw_normal(&r)), sqrt(2 * 53 * log(2.0))));
    PASS();
}

/* ---- schedules */
static double square(void *self, size_t t) { return *(double *)self * (double)(t * t); }

TEST schedules_by_hand(void) {
    double three = 3;
    rn_schedule s = rn_schedule_constant(0.25);
    ASSERT(near(rn_schedule_value(&s, 1), 0.25) && near(rn_schedule_value(&s, 99), 0.25));
    s = rn_schedule_linear(0.08, 0, 200);
    ASSERT(near(rn_schedule_value(&s, 1), 0.08) && near(rn_schedule_value(&s, 101), 0.04));
    ASSERT(near(rn_schedule_value(&s, 200), 0.0004));
    ASSERT(fabs(rn_schedule_value(&s, 201)) <= 0 && fabs(rn_schedule_value(&s, 5000)) <= 0);
    s = rn_schedule_linear(1, 3, 4);
    ASSERT(near(rn_schedule_value(&s, 1), 1) && near(rn_schedule_value(&s, 2), 1.5) &&
           near(rn_schedule_value(&s, 4), 2.5));
    ASSERT(near(rn_schedule_value(&s, 5), 3) && near(rn_schedule_value(&s, 6), 3));
    s = rn_schedule_staircase(0.8, 0.5, 3);
    ASSERT(near(rn_schedule_value(&s, 1), 0.8) && near(rn_schedule_value(&s, 3), 0.8) &&
           near(rn_schedule_value(&s, 4), 0.4));
    ASSERT(near(rn_schedule_value(&s, 7), 0.2) && near(rn_schedule_value(&s, 10), 0.1));
    s.rounds = 0; /* counts as 1 */
    ASSERT(near(rn_schedule_value(&s, 3), 0.2));
    s = rn_theory_gamma(2, 0.5); /* 6 * 2/0.5 = 24, over t+2 */
    ASSERT(near(rn_schedule_value(&s, 1), 8) && near(rn_schedule_value(&s, 2), 6) &&
           near(rn_schedule_value(&s, 10), 2));
    s = rn_theory_eta();
    for (size_t t = 1; t < 20; t++) ASSERT(near(rn_schedule_value(&s, t), 1 / (double)t));
    memset(&s, 0, sizeof s);
    ASSERT(fabs(rn_schedule_value(&s, 3)) <= 0); /* zero = constant 0 */
    s.kind = RN_SCHEDULE_INVERSE;                /* the authors' lr: v * 2/(2 + floor(t/K)) */
    s.value = 1e-3;
    s.shift = 2;
    s.rounds = 500;
    ASSERT(near(rn_schedule_value(&s, 499), 5e-4) && near(rn_schedule_value(&s, 500), 1e-3 / 3));
    s.kind = RN_SCHEDULE_CALLBACK;
    s.at = square;
    s.self = &three;
    ASSERT(near(rn_schedule_value(&s, 5), 75));
    PASS();
}

/* as many rounds as there are numbers do not hang */
TEST steps_stay_cheap_far_out(void) {
    rn_schedule s = rn_schedule_staircase(1, 0.5, 1);
    ASSERT(rn_schedule_value(&s, (size_t)-1 / 4) <= 0);
    s = rn_schedule_staircase(1, 1, 1);
    ASSERT(near(rn_schedule_value(&s, (size_t)-1 / 4), 1));
    s = rn_schedule_staircase(0, 0.5, 1);
    ASSERT(rn_schedule_value(&s, (size_t)-1 / 4) <= 0);
    s = rn_schedule_staircase(1, 0.9, 1); /* the least number times 0.9 is itself */
    ASSERT(rn_schedule_value(&s, (size_t)-1 / 4) <= 0);
    s = rn_schedule_staircase(1, 1 - DBL_EPSILON / 2, 1);
    ASSERT(rn_schedule_value(&s, (size_t)-1 / 4) < 1e-3);
    s = rn_schedule_staircase(1, 1 - 0x1p-30, 1); /* (1 - 1/n)^n = 1/e */
    ASSERT(fabs(rn_schedule_value(&s, ((size_t)1 << 30) + 1) - exp(-1)) < 1e-6);
    ASSERT(near(rn_schedule_value(&s, 0), 1)); /* there is no round 0: as the first */
    s.kind = RN_SCHEDULE_CALLBACK;
    ASSERT(near(rn_schedule_value(&s, 1), 0)); /* no callback */
    s.kind = (rn_schedule_kind)99;
    ASSERT(near(rn_schedule_value(&s, 1), 0));
    PASS();
}

TEST horizon_by_hand(void) {
    ASSERT_EQ((size_t)1, rn_theory_horizon(0, 0.9));
    ASSERT_EQ((size_t)24, rn_theory_horizon(10, 0.9));    /* log 11/0.1 = 23.98 */
    ASSERT_EQ((size_t)691, rn_theory_horizon(999, 0.99)); /* log 1000/0.01 = 690.8 */
    ASSERT_EQ((size_t)7, rn_theory_horizon(1000, 0));     /* log 1001 = 6.9 */
    ASSERT_EQ((size_t)0, rn_theory_horizon(10, 1));
    ASSERT_EQ((size_t)0, rn_theory_horizon(10, -0.1));
    ASSERT_EQ((size_t)0, rn_theory_horizon((double)NAN, 0.5));
    ASSERT_EQ((size_t)0, rn_theory_horizon(10, (double)NAN));
    ASSERT_EQ((size_t)0, rn_theory_horizon(-1, 0.5));
    PASS();
}

/* ---- theory, with G1 = 2, G2 = 3, R = 5, discount = 1/2, muF = 1/2, N = 10, f = 2, lambda = 1/2;
   T = e^2 - 1: H = 4. 1/(1-discount) = 2.
   L = 5 (4 + 3) 4 = 140. G_g = 2 * 5 * 4 = 40. G_H = (3 * 4 * 5 + 140 * 5) 4 = 3040.
   D_g = 2 * 5 * 2 sqrt(2 + 4) = 20 sqrt 6. D_h = 5 (3 + 4) 2 (2 + 4) = 420.
   6 G1/muF = 24; C1 = 40 + 24 (140 + 3040).
   C2 = 2 * 40^2 + 12 (2 * 140^2 + 3040^2 + 420^2/2^8) 24 + 24 * 400 * 6.
   C3 = 16 * 4 * 20 sqrt 6 + 18 * 16 * 140 + 950 C1 4/2. */
static rn_assumptions theory_example(void) {
    rn_assumptions p;
    memset(&p, 0, sizeof p);
    p.G1 = 2;
    p.G2 = 3;
    p.R = 5;
    p.discount = 0.5;
    p.muF = 0.5;
    p.lambda = 0.5;
    p.eps_bias = 0.04;
    p.gap = 7;
    p.n = 10;
    p.f = 2;
    return p;
}

TEST constants_by_hand(void) {
    const rn_assumptions p = theory_example();
    const double T = exp(2.0) - 1;
    const rn_constants c = rn_theory_constants(&p, T);
    const double C1 = 76360, C2 = 3200 + 288 * (39200 + 9241600 + 689.0625) + 57600;
    const double C3 = 1280 * sqrt(6.0) + 40320 + 1900 * C1;
    const double bound =
        0.4 + 7 / exp(4.0) + C3 / exp(2.0) +
        128 / exp(1.0) * (sqrt(C2 * (1 + log(T)) / 8) + C1 / 2 * sqrt(2 * (log(8.0) + 2)));
    ASSERT(near(c.H, 4) && near(c.L, 140) && near(c.G_g, 40) && near(c.G_H, 3040));
    ASSERT(near(c.D_g, 20 * sqrt(6.0)) && near(c.D_h, 420));
    ASSERT(near(c.C1, C1) && near(c.C2, C2) && near(c.C3, C3));
    ASSERT(near(rn_theory_bound(&p, T), bound));
    PASS();
}

TEST variances_may_be_given(void) {
    rn_assumptions p = theory_example();
    p.sigma2 = 2;
    p.sigmaH2 = 3;
    ASSERT(
        near(rn_theory_constants(&p, exp(2.0) - 1).C2, 4 + 288 * (39200 + 3 + 689.0625) + 57600));
    p.discount = 0; /* discount^H is 0 */
    p.sigma2 = 0;
    ASSERT(near(rn_theory_constants(&p, 10).G_g, 10));
    PASS();
}

TEST trajectories_reach_the_target(void) {
    rn_assumptions p = theory_example();
    p.lambda = 0.01;
    p.G1 = p.G2 = p.R = 1;
    p.sigma2 = p.sigmaH2 = 1;
    for (double eps = 100; eps > 0.5; eps /= 3) {
        const double n = rn_theory_trajectories(&p, eps), T = n / 2;
        ASSERT(T >= 1 && T <= floor(T)); /* two a round, whole rounds */
        ASSERT(rn_theory_bound(&p, T) <= 0.4 + eps);
        ASSERT(T <= 1 || rn_theory_bound(&p, T - 2) > 0.4 + eps);
    }
    p.n = 1;
    p.f = 0;
    p.lambda = 0; /* alone: no attack term, log(1) and all */
    ASSERT(rn_theory_bound(&p, 100) > 0);
    ASSERT(rn_theory_bound(&p, 1000) < rn_theory_bound(&p, 100));
    PASS();
}

TEST theory_refuses_nonsense(void) {
    for (int k = 0; k < 24; k++) {
        rn_assumptions p = theory_example();
        double T = 100;
        switch (k) {
        case 0: p.G1 = 0; break;
        case 1: p.G2 = -1; break;
        case 2: p.R = (double)NAN; break;
        case 3: p.discount = 1; break;
        case 4: p.discount = -0.1; break;
        case 5: p.muF = 0; break;
        case 6: p.lambda = -1; break;
        case 7: p.eps_bias = (double)NAN; break;
        case 8: p.gap = -1; break;
        case 9: p.n = 2; break;
        case 10: p.sigma2 = -1; break;
        case 11: p.sigmaH2 = (double)NAN; break;
        case 12: T = 0.5; break;
        case 13: T = (double)NAN; break;
        case 14: T = (double)INFINITY; break;
        case 15: p.G1 = (double)INFINITY; break;
        case 16: p.G2 = (double)INFINITY; break;
        case 17: p.R = (double)INFINITY; break;
        case 18: p.muF = (double)INFINITY; break;
        case 19: p.lambda = (double)INFINITY; break;
        case 20: p.eps_bias = (double)INFINITY; break;
        case 21: p.gap = (double)INFINITY; break;
        case 22: p.sigma2 = (double)INFINITY; break;
        default: p.sigmaH2 = (double)INFINITY; break;
        }
        ASSERT(near(rn_theory_bound(&p, T), -1));
        ASSERT(near(rn_theory_constants(&p, T).C1, -1) && near(rn_theory_constants(&p, T).H, -1));
        if (k < 12 || k > 14) ASSERT(near(rn_theory_trajectories(&p, 1), -1));
    }
    { /* constants that overflow, to infinity or to infinity times 0, promise nothing */
        rn_assumptions p = theory_example();
        p.G1 = 1e200;
        p.G2 = 1e200;
        ASSERT(isinf(rn_theory_bound(&p, 100)));
        ASSERT(isinf(rn_theory_bound(&p, 1e300)));
        ASSERT(near(rn_theory_trajectories(&p, 1), -1));
    }
    {
        const rn_assumptions p = theory_example();
        ASSERT(near(rn_theory_trajectories(&p, 0), -1));
        ASSERT(near(rn_theory_trajectories(&p, (double)NAN), -1));
        ASSERT(near(rn_theory_trajectories(NULL, 1), -1));
        ASSERT(near(rn_theory_bound(NULL, 1), -1));
    }
    PASS();
}

TEST psi_by_hand(void) {
    static const double reward[4] = {1, 2, -4, 8};
    double psi[4];
    rn_method m;
    memset(&m, 0, sizeof m);
    m.discount = 0.5; /* 1, 1, -1, 1 */
    rn_compute_returns_to_go(&m, 4, reward, psi);
    ASSERT(near(psi[0], 2) && near(psi[1], 1) && fabs(psi[2]) <= 0 && near(psi[3], 1));
    m.estimator = RN_REINFORCE;
    rn_compute_returns_to_go(&m, 4, reward, psi);
    for (int i = 0; i < 4; i++) ASSERT(near(psi[i], 2));
    m.discount = 0; /* 0^0 = 1: the first reward alone */
    m.estimator = RN_GPOMDP;
    rn_compute_returns_to_go(&m, 4, reward, psi);
    ASSERT(near(psi[0], 1) && fabs(psi[1]) <= 0 && fabs(psi[3]) <= 0);
    PASS();
}

TEST every_status_has_its_text(void) {
    for (int i = 0; i < RN_STATUS_COUNT; i++) {
        ASSERT(strlen(rn_status_text((rn_status)i)) >= 2);
        for (int k = 0; k < i; k++)
            ASSERT(strcmp(rn_status_text((rn_status)i), rn_status_text((rn_status)k)) != 0);
    }
    ASSERT(rn_status_text((rn_status)999) != NULL);
    PASS();
}

SUITE(random_numbers) {
    RUN_TEST(generator_is_xoshiro);
    RUN_TEST(streams_differ);
    RUN_TEST(streams_are_jumps);
    RUN_TEST(below_is_exactly_uniform);
    RUN_TEST(below_a_power_of_two_throws_nothing_away);
    RUN_TEST(uniform_has_53_bits);
    RUN_TEST(normal_has_its_moments);
    RUN_TEST(normal_is_finite_at_the_corners);
}

SUITE(schedules) {
    RUN_TEST(schedules_by_hand);
    RUN_TEST(steps_stay_cheap_far_out);
    RUN_TEST(horizon_by_hand);
}

SUITE(theory) {
    RUN_TEST(constants_by_hand);
    RUN_TEST(variances_may_be_given);
    RUN_TEST(trajectories_reach_the_target);
    RUN_TEST(theory_refuses_nonsense);
    RUN_TEST(psi_by_hand);
    RUN_TEST(every_status_has_its_text);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(random_numbers);
    RUN_SUITE(schedules);
    RUN_SUITE(theory);
    GREATEST_MAIN_END();
}
