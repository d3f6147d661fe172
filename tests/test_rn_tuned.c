/* What tunes itself in resnharpg.h, from inside: the gains of method.tuned against a search for the
   least error, its averages, and what it does where the answer is known. (test_rn_trainer.c has the
   whole of it against a plain Algorithm 1.) */
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include "greatest.h"
#include "common.h"
#include "tiny.h"

static const double tol = 1e-12;

static rni_filter filter_of(double noise, double error, double lag) {
    rni_filter f;
    memset(&f, 0, sizeof f);
    f.noise = noise;
    f.error = error;
    f.lag = lag;
    return f;
}

/* E ||d + w v - grad J||^2 by the filter's picture of the world */
static double predicted(const rni_filter *f, double share, double V, double w) {
    const double left = f->lag + (1 - w) * sqrt(share * V);
    return f->error + w * w * (1 - share) * V + left * left;
}

/* scripted numbers in, exact gains out */
TEST gains_by_hand(void) {
    rni_filter f = filter_of(3, 1, 0);
    rni_gains k = rni_filter_gains(&f, 0.75, 4); /* D = 3, N = 1: w = 3/4 */
    ASSERT(fabs(k.w - 0.75) < tol);
    ASSERT(fabs(k.noise - (1 + 0.5625)) < tol && fabs(k.lag - 0.25 * sqrt(3.0)) < tol);
    ASSERT(fabs(k.eta - 1.75 / 4.75) < tol); /* P = 1 + 9/16 + 3/16 */
    k = rni_filter_gains(&f, 0.75, 0);       /* theta did not move */
    ASSERT(fabs(k.w) <= 0 && fabs(k.eta - 0.25) < tol);
    f.lag = 2; /* far behind: all of v */
    k = rni_filter_gains(&f, 0.75, 4);
    ASSERT(k.w >= 1 && k.w <= 1);
    ASSERT(fabs(k.noise - 2) < tol && fabs(k.lag - 2) < tol && fabs(k.eta - 6.0 / 9) < tol);
    f = filter_of(1, 0, 0); /* d is perfect, it says: the floor */
    k = rni_filter_gains(&f, 0.1, 0);
    ASSERT(fabs(k.eta - 1.0 / 256) < tol);
    f = filter_of(0, 0, 0); /* g is, too */
    k = rni_filter_gains(&f, 0.1, 0);
    ASSERT(k.eta >= 1);
    PASS();
}

TEST gains_make_the_error_least(void) {
    rng r = rng_make(4);
    for (int i = 0; i < 300; i++) {
        const double V = exp(3 * rng_normal(&r)), share = rni_filter_share[i % RNI_FILTERS];
        const rni_filter f = filter_of(exp(3 * rng_normal(&r)), exp(3 * rng_normal(&r)),
                                       i % 4 ? exp(rng_normal(&r)) : 0);
        const rni_gains k = rni_filter_gains(&f, share, V);
        const double P = k.noise + k.lag * k.lag, e = 1 - k.eta;
        const double best = e * e * P + k.eta * k.eta * f.noise;
        ASSERT(fabs(P - predicted(&f, share, V, k.w)) < 1e-9 * P);
        for (int j = 0; j <= 200; j++) {
            const double x = j / 200.0;
            ASSERT(predicted(&f, share, V, x) > P * (1 - 1e-12));
            ASSERT((1 - x) * (1 - x) * P + x * x * f.noise > best * (1 - 1e-12) ||
                   k.eta <= RNI_FILTER_FLOOR);
        }
    }
    PASS();
}

/* the first `most` count alike, then each new one for 1/most */
TEST averages_forget(void) {
    double mean = 0, want = 0;
    for (int i = 1; i <= 40; i++) {
        const double x = i % 7 * 0.5;
        mean = rni_running_mean(mean, x, i, RNI_FILTER_ROUNDS);
        want = i <= 16 ? (want * (i - 1) + x) / i : want * 15 / 16 + x / 16;
        ASSERT(fabs(mean - want) < tol);
    }
    PASS();
}

/* g = gradient + noise in many dimensions, the gradient walks straight on: who holds the right
   share of ||v||^2 for the gradient's way has the best score, and R is found */
/* where g is what was foretold, and nothing is known to be noise, nothing is learned */
TEST no_error_teaches_nothing(void) {
    const rni_gains k = {0.5, 0.5, 0, 0};
    const rni_sample same = {4, 1, 1, 4, 4}, other = {4, 1, 1, 0, 4};
    rni_filter f = {0, 0, 0, 0};
    rni_filter_learn(&f, &k, &other, 5);
    ASSERT(f.noise >= 0 && f.noise <= 0);
    f.noise = 3;
    rni_filter_learn(&f, &k, &same, 5);
    ASSERT(f.noise >= 3 && f.noise <= 3);
    rni_filter_learn(&f, &k, &other, 5);
    ASSERT(f.noise > 3);
    PASS();
}

TEST the_right_share_wins(double share, size_t want) {
    enum { DIMS = 40, STEPS = 200 };

    rng r = rng_make(9);
    rni_bank b;
    double x[DIMS] = {0}, way[DIMS], d[RNI_FILTERS][DIMS] = {{0}}, V = 0.5, noise = 0;
    memset(&b, 0, sizeof b);
    for (int i = 0; i < DIMS; i++) way[i] = sqrt(share * V / DIMS) * (i % 2 ? 1 : -1);
    for (int t = 0; t < STEPS; t++) {
        double g[DIMS], v[DIMS];
        rni_sample s = {0, 0, 1, 0, 0};
        for (int i = 0; i < DIMS; i++) {
            x[i] += t ? way[i] : 0;
            g[i] = x[i] + sqrt(4.0 / DIMS) * rng_normal(&r); /* R = 4 */
            v[i] = way[i] + sqrt((1 - share) * V / DIMS) * rng_normal(&r);
            s.gg += g[i] * g[i];
            s.vv += v[i] * v[i];
        }
        if (t == 0) rni_bank_start(&b, s.gg);
        if (t == 0) b.change = V;
        if (t && b.rounds < RNI_SCORE_ROUNDS) b.rounds += 1;
        for (size_t k = 0; k < RNI_FILTERS; k++) {
            rni_gains q = {0, 1, 0, 0};
            s.gd = s.dd = 0;
            for (int i = 0; i < DIMS; i++) s.gd += g[i] * d[k][i], s.dd += d[k][i] * d[k][i];
            if (t) {
                q = rni_filter_gains(&b.filter[k], rni_filter_share[k], b.change);
                rni_filter_learn(&b.filter[k], &q, &s, b.rounds);
            }
            for (int i = 0; i < DIMS; i++)
                d[k][i] = (1 - q.eta) * (d[k][i] + q.w * v[i]) + q.eta * g[i];
        }
        rni_bank_learn_v(&b, &s);
        noise += b.filter[rni_bank_best(&b)].noise / STEPS;
    }
    ASSERT_EQ(want, rni_bank_best(&b));
    ASSERT(noise > 3 && noise < 5);
    ASSERT(fabs(b.change - V) < 0.2);
    PASS();
}

/* every scalar is looked at */
TEST banks_fit_or_not(void) {
    static const double wrong[] = {(double)NAN, (double)INFINITY, 1e151, -1e151};
    rni_bank b;
    memset(&b, 0, sizeof b);
    ASSERT(rni_bank_fits(&b));
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 1 + 4 * RNI_FILTERS; k++) {
            rni_filter *f = &b.filter[k ? (k - 1) / 4 : 0];
            double *const field[4] = {&f->noise, &f->error, &f->lag, &f->score};
            double *x = k ? field[(k - 1) % 4] : &b.change;
            *x = wrong[i];
            ASSERT_FALSE(rni_bank_fits(&b));
            *x = k && (k - 1) % 4 == 3 ? -1 : 1e150;
            ASSERT(rni_bank_fits(&b));
        }
    PASS();
}

typedef struct payer { /* a walk that pays `by` times as much */
    walk walk;
    double by;
} payer;

static rn_step_result payer_step(void *self, const rn_real *act, const agg_rng *r, rn_real *obs,
                                 double *reward) {
    const rn_step_result result = walk_step(self, act, r, obs, reward);
    *reward *= ((payer *)self)->by;
    return result;
}

/* rewards whose squares do not fit end the round, and leave the agent as it was */
TEST giants_teach_nothing(void) {
    static trio c;
    static payer p;
    rn_agent *a;
    rn_agent_desc d;
    void *block;
    rni_bank bank;
    rn_real kept[64];
    trio_make(&c, 0);
    d = c.a;
    d.env = walk_env(&p.walk, &c.m, 0);
    d.env.step = payer_step;
    d.method.tuned = 1;
    block = need(malloc(rn_agent_size(&d)));
    ASSERT_EQ(RN_OK, rn_agent_init(&a, &d, block, rn_agent_size(&d)));
    for (int t = 0; t < 12; t++) {
        rn_real theta[64];
        const int giant = t % 4 == 3;
        for (size_t i = 0; i < c.p.policy.dim; i++) theta[i] = (rn_real)(0.01 * t);
        p.by = giant ? 1e200 : 1;
        if (giant) memcpy(kept, rn_agent_direction(a), c.p.policy.dim * sizeof *kept);
        bank = a->bank;
        ASSERT_EQ(giant ? RN_ERR_POLICY : RN_OK, rn_agent_run_round(a, theta, 0.5));
        ASSERT_EQ(giant, !memcmp(&bank, &a->bank, sizeof bank));
        if (giant) ASSERT(same_bits(kept, rn_agent_direction(a), c.p.policy.dim));
        ASSERT(all_finite(rn_agent_direction(a), c.p.policy.dim));
    }
    free(block);
    PASS();
}

/* ---- server.kl */
static rn_server *server_of(size_t n, size_t f, double kl, void **block) {
    rn_server_desc d;
    rn_server *s = NULL;
    memset(&d, 0, sizeof d);
    d.n = n;
    d.dim = 2;
    d.agg.f = f;
    d.agg.rule = AGG_CWMED;
    d.kl = kl;
    d.gamma = rn_schedule_constant(1e6);
    d.eta = rn_schedule_constant(1);
    *block = need(malloc(rn_server_size(&d)));
    if (rn_server_init(&s, &d, *block, rn_server_size(&d)) != RN_OK) abort();
    return s;
}

static double kl_step_late(const rn_server *s, const double *F, const unsigned char *late) {
    rn_arrivals a;
    memset(&a, 0, sizeof a);
    a.curvature = F;
    a.late = late;
    return rni_kl_step(s, &a);
}

static double kl_step(const rn_server *s, const double *F) { return kl_step_late(s, F, NULL); }

/* Honest numbers, and in every f places of n every choice of f hostile ones: the step lies between
   those that two honest numbers would have led to. */
TEST hostile_numbers_stay_in_the_honest_range(size_t n, size_t f) {
    static const double evil[] = {
        (double)NAN, (double)INFINITY, -(double)INFINITY, -1, -0.0, 0, 1e-310, 1e-30, 2.5,
        1e30,        DBL_MAX};

    enum { EVILS = sizeof evil / sizeof *evil };

    void *block;
    rn_server *s = server_of(n, f, 1e-6, &block);
    size_t choices = 1, seen = 0;
    for (size_t i = 0; i < f; i++) choices *= EVILS;
    for (unsigned who = 0; who < 1u << n; who++) {
        size_t count = 0;
        for (size_t i = 0; i < n; i++) count += who >> i & 1;
        for (size_t choice = 0; count == f && choice < choices; choice++) {
            double F[8], least = 1e300, most = 0, k;
            size_t rest = choice;
            for (size_t i = 0; i < n; i++) {
                F[i] = 1 + 0.37 * (double)(i * 5 % n);
                if (who >> i & 1) {
                    F[i] = evil[rest % EVILS];
                    rest /= EVILS;
                    continue;
                }
                least = fmin(least, F[i]);
                most = fmax(most, F[i]);
            }
            s->step = 1; /* doubling is no limit here */
            k = kl_step(s, F);
            ASSERT(k >= sqrt(2e-6 / most) * (1 - 1e-12) && k <= sqrt(2e-6 / least) * (1 + 1e-12));
            seen++;
        }
    }
    ASSERT(seen >= choices);
    free(block);
    PASS();
}

TEST steps_by_hand(void) {
    const double F[5] = {8, 2, 32, 0.5, 2}, none[5] = {-1, -1, (double)NAN, 2, 2};
    const double zeros[5] = {0, 0, 0, 0, 1}, large[5] = {DBL_MAX, DBL_MAX, DBL_MAX, 1, 1};
    void *block;
    rn_server *s = server_of(5, 2, 1, &block);
    ASSERT(fabs(rn_server_gamma(s) - 0.001) < tol); /* nothing is known */
    ASSERT(fabs(kl_step(s, NULL) - 0.001) < tol);
    ASSERT(fabs(kl_step(s, F) - 0.002) < tol); /* sqrt(2/2) = 1, but no more than double */
    s->step = 3;
    ASSERT(fabs(kl_step(s, F) - 1) < tol);
    ASSERT(fabs(kl_step(s, none) - 3) < tol); /* three of five: more than f */
    ASSERT(fabs(kl_step(s, zeros) - 6) < tol);
    ASSERT(fabs(kl_step(s, large) - RNI_KL_LEAST) < tol);
    s->step = RNI_KL_MOST;
    ASSERT(fabs(kl_step(s, zeros) - RNI_KL_MOST) < tol);
    s->desc.agg.f = 3; /* as with a rule of the host's: then there is no middle */
    ASSERT(fabs(kl_step(s, none) - RNI_KL_MOST) < tol);
    free(block);
    PASS();
}

/* the middle of the numbers that are in time; what the late left there is not looked at */
TEST late_numbers(void) {
    const double F[7] = {8, (double)NAN, 2, 32, 0, 0.5, 2}, few[7] = {-1, 3, 2, -1, 3, -1, 2};
    const unsigned char late[7] = {0, 1, 0, 0, 1, 0, 0};
    void *block;
    rn_server *s = server_of(7, 2, 1, &block);
    s->step = 3;
    ASSERT(fabs(kl_step_late(s, F, late) - 1) < tol);   /* sqrt(2/2) */
    ASSERT(fabs(kl_step_late(s, few, late) - 3) < tol); /* three of five: more than f */
    free(block);
    PASS();
}

/* the cap and the shape are the schedule's; what is refused changes nothing */
TEST schedule_is_the_cap(void) {
    const double F[3] = {200, 200, 200};
    const rn_real row[2] = {3, 4};
    const rn_real *three[3] = {row, row, row}, *silent[3] = {NULL, NULL, NULL};
    rn_progress p;
    void *block;
    rn_server *s = server_of(3, 1, 1, &block);
    s->desc.gamma = rn_schedule_linear(0.5, 0, 4);
    s->step = 0.05;
    ASSERT_EQ(RN_ERR_AGGREGATE, rn_server_update_with(s, silent, F, &p));
    ASSERT(fabs(s->step - 0.05) < tol);
    ASSERT_EQ(RN_OK, rn_server_update_with(s, three, F, &p));
    ASSERT(fabs(p.gamma - 0.1) < tol); /* k = sqrt(2/200) */
    ASSERT_EQ(RN_OK, rn_server_update_with(s, three, F, &p));
    ASSERT(fabs(p.gamma - 0.1 * 0.75) < tol);
    ASSERT_EQ(RN_OK, rn_server_update(s, three, &p)); /* nobody says anything: k stays */
    ASSERT(fabs(p.gamma - 0.1 * 0.5) < tol);
    s->step = 0.9;
    ASSERT_EQ(RN_OK, rn_server_update(s, three, &p));
    ASSERT(fabs(p.gamma - 0.125) < tol); /* the schedule's own */
    ASSERT_EQ(RN_ERR_ARG, rn_server_update_with(NULL, three, F, &p));
    free(block);
    PASS();
}

/* -1 until theta has moved, then the mean of c^2/||u||^2; and it stays where theta does */
/* of a net, and of a host's policy */
TEST agents_offer_curvature(int host) {
    static trio c;
    rn_agent *a;
    rn_agent_desc d;
    void *block;
    rn_real theta[64] = {0};
    double x;
    trio_make(&c, 0);
    d = c.a;
    d.method.curvature = d.method.no_hessian = 1;
    if (host) d.policy.hvp = NULL;
    block = need(malloc(rn_agent_size(&d)));
    ASSERT_EQ(RN_OK, rn_agent_init(&a, &d, block, rn_agent_size(&d)));
    ASSERT(rn_agent_curvature(NULL) <= -1 && rn_agent_curvature(a) <= -1);
    ASSERT_EQ(RN_OK, rn_agent_run_round(a, theta, 0.5));
    ASSERT(rn_agent_curvature(a) <= -1);
    theta[c.p.policy.dim - 1] = (rn_real)0.25; /* a bias of the output */
    ASSERT_EQ(RN_OK, rn_agent_run_round(a, theta, 0.5));
    x = rn_agent_curvature(a);
    ASSERT(x > 0.1 && x < 0.9); /* (1 - p)^2 or p^2, p near 1/2 */
    ASSERT_EQ(RN_OK, rn_agent_run_round(a, theta, 0.5));
    ASSERT(rn_agent_curvature(a) >= x && rn_agent_curvature(a) <= x);
    theta[0] += (rn_real)1e-30; /* of a step whose square is 0, or nearly */
    ASSERT_EQ(RN_OK, rn_agent_run_round(a, theta, 0.5));
    a->u[0] = (rn_real)(sizeof(rn_real) == 8 ? 1e-200 : 0);
    a->count_cc = 1;
    rni_agent_learn_curvature(a);
    ASSERT(rn_agent_curvature(a) >= 0);
    free(block);
    PASS();
}

/* with everything on, half of the rounds saved and loaded in between: the same bits */
TEST tuned_trainers_go_on_with_the_same_bits(void) {
    static trio one, two;
    rn_trainer *a, *b;
    rn_trainer_desc d[2];
    unsigned char *bytes;
    size_t size;
    trio_make(&one, 0);
    trio_make(&two, 0);
    d[0] = rn_make_tuned_trainer_desc(TRIO, 1, one.envs, one.p.policy, 0);
    d[1] = rn_make_tuned_trainer_desc(TRIO, 1, two.envs, two.p.policy, 500);
    d[0].method.horizon = d[1].method.horizon = 4;
    d[0].adversaries = d[1].adversaries = 1;
    ASSERT_EQ(RN_OK, rn_trainer_create(&a, &d[0]));
    for (int t = 0; t < 8; t++) ASSERT_EQ(RN_OK, rn_trainer_run_round(a));
    (void)rn_trainer_tick(a, 5, NULL);
    size = rn_trainer_save_size(a);
    bytes = (unsigned char *)need(malloc(size));
    ASSERT_EQ(RN_OK, rn_trainer_save(a, bytes, size));
    ASSERT_EQ(RN_OK, rn_trainer_create(&b, &d[1]));
    ASSERT_EQ(RN_OK, rn_trainer_load(b, bytes, size));
    for (int t = 0; t < 8; t++) {
        ASSERT_EQ(rn_trainer_run_round(a), rn_trainer_run_round(b));
        ASSERT(same_bits(rn_trainer_theta(a), rn_trainer_theta(b), one.p.policy.dim));
    }
    ASSERT(rn_trainer_progress(a)->gamma > 0.001); /* it has grown from the first */
    rn_trainer_destroy(a);
    rn_trainer_destroy(b);
    free(bytes);
    PASS();
}

SUITE(budget) {
    for (size_t n = 3; n <= 7; n++)
        for (size_t f = 1; 2 * f < n; f++)
            RUN_TESTp(hostile_numbers_stay_in_the_honest_range, n, f);
    RUN_TEST(steps_by_hand);
    RUN_TEST(late_numbers);
    RUN_TEST(schedule_is_the_cap);
    RUN_TESTp(agents_offer_curvature, 0);
    RUN_TESTp(agents_offer_curvature, 1);
    RUN_TEST(tuned_trainers_go_on_with_the_same_bits);
}

SUITE(tuned) {
    RUN_TEST(gains_by_hand);
    RUN_TEST(gains_make_the_error_least);
    RUN_TEST(averages_forget);
    RUN_TEST(no_error_teaches_nothing);
    RUN_TESTp(the_right_share_wins, 0.75, 0);
    RUN_TESTp(the_right_share_wins, 0.001, 2);
    RUN_TEST(banks_fit_or_not);
    RUN_TEST(giants_teach_nothing);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(tuned);
    RUN_SUITE(budget);
    GREATEST_MAIN_END();
}
