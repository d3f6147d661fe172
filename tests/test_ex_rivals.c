/* The algorithms of others in examples/paper: FedPG-BR, Byz-PG and Fed-ADMM against their
   definitions, on a task so small that all its trajectories can be counted. */
#define _POSIX_C_SOURCE 200809L
#include "implementation.h"
#include "resnharpg.h"
#include "examples/paper/byz_pg.h"
#include "examples/paper/fed_admm.h"
#include "examples/paper/fedpg_br.h"
#include "greatest.h"

#ifdef AGG_DOUBLE
#define EXACT 1e-9
#else
#define EXACT 2e-5
#endif

/* ---- two states, two actions, three steps; seen as (1,0) or (0,1). Action 1 pays more. */
enum { H = 3, DIM = 4, AGENTS = 5, PATHS = 32 };

static const double to_one[2][2] = {{0.3, 0.8}, {0.6, 0.1}};
static const double pays[2][2] = {{0.2, 1.0}, {-0.5, 0.7}};
static int falls; /* 1: state 1 is the end */

static void see(int s, rn_real *obs) {
    obs[0] = (rn_real)(s == 0);
    obs[1] = (rn_real)(s == 1);
}

static void tiny_reset(void *self, const agg_rng *rng, rn_real *obs) {
    (void)rng;
    *(int *)self = 0;
    see(0, obs);
}

static rn_step_result tiny_step(void *self, const rn_real *act, const agg_rng *rng, rn_real *obs,
                                double *reward) {
    int *s = (int *)self;
    const int a = (int)act[0];
    *reward = pays[*s][a];
    *s = rn_draw_uniform(rng) < to_one[*s][a];
    see(*s, obs);
    return falls && *s ? RN_TERMINATED : RN_RUNNING;
}

static rn_env tiny_env(const task *k, void *state) {
    rn_env e;
    (void)k;
    memset(&e, 0, sizeof e);
    e.self = state;
    e.reset = tiny_reset;
    e.step = tiny_step;
    e.obs_dim = 2;
    e.act_dim = 1;
    e.actions = 2;
    return e;
}

/* theta[state][action]: a table, by a net without hidden units and biases */
static rn_net_desc tiny_net(void) {
    rn_net_desc d = rn_make_net_desc(2, 2);
    d.no_bias = 1;
    return d;
}

static recipe tiny_recipe(const task *k, const learner *l) {
    recipe r;
    (void)k, (void)l;
    memset(&r, 0, sizeof r);
    r.net = tiny_net();
    r.method.horizon = H;
    return r;
}

static const task tiny_task = {"tiny", sizeof(int), tiny_env, tiny_recipe, H, 0};
static const learner anybody = {"anybody", AGG_MEAN, 0, 0};
static attack honest_only, noise, wild;

static trial tiny_trial(const attack *a, size_t adversaries) {
    trial t = trial_make(&tiny_task, &anybody, a, 5);
    t.agents = AGENTS;
    t.f = t.adversaries = adversaries;
    return t;
}

static double log_pi(const rn_real *theta, int s, int a) {
    const double x = (double)theta[2 * s], y = (double)theta[2 * s + 1], m = fmax(x, y);
    return (a ? y : x) - m - log(exp(x - m) + exp(y - m));
}

static void random_theta(uint32_t stream, double size, rn_real *theta) {
    rn_random r = rn_make_random(77, stream);
    const agg_rng rng = rn_random_rng(&r);
    for (int i = 0; i < DIM; i++) theta[i] = (rn_real)(size * rn_draw_normal(&rng));
}

/* path k of all: actions and states by its bits. Fills e with it; returns its probability */
static double path(const rn_real *theta, int k, episodes *e) {
    double p = 1;
    int s = 0;
    episodes_clear(e);
    for (int t = 0; t < H; t++, e->steps++) {
        const int a = (k >> (2 * t)) & 1, next = t + 1 < H ? (k >> (2 * t + 1)) & 1 : 0;
        see(s, e->obs + 2 * t);
        e->act[t] = (rn_real)a;
        e->reward[t] = pays[s][a];
        p *= exp(log_pi(theta, s, a));
        if (t + 1 < H) p *= next ? to_one[s][a] : 1 - to_one[s][a];
        s = next;
    }
    e->end[e->count++] = H;
    return p;
}

static double value(const rn_real *theta, double discount, episodes *e) {
    double J = 0;
    for (int k = 0; k < PATHS; k++) {
        const double p = path(theta, k, e);
        for (int t = 0; t < H; t++) J += p * pow(discount, t) * e->reward[t];
    }
    return J;
}

/* ---- what they share */
TEST adam_is_adam(void) {
    const double g[2][2] = {{0.5, -2}, {-0.25, 4}};
    double want[2] = {1, 1}, m[2] = {0, 0}, v[2] = {0, 0};
    rn_real theta[2] = {1, 1};
    adam a;
    adam_start(&a, 2, 0.1);
    for (int t = 0; t < 2; t++) {
        const rn_real x[2] = {(rn_real)g[t][0], (rn_real)g[t][1]};
        adam_step(&a, x, theta);
        for (int i = 0; i < 2; i++) {
            m[i] = 0.9 * m[i] + 0.1 * g[t][i];
            v[i] = 0.999 * v[i] + 0.001 * g[t][i] * g[t][i];
            want[i] +=
                0.1 * m[i] / (1 - pow(0.9, t + 1)) / (sqrt(v[i] / (1 - pow(0.999, t + 1))) + 1e-8);
            ASSERT_IN_RANGE(want[i], (double)theta[i], 1e-6);
        }
        if (t == 0) ASSERT_IN_RANGE(1.1, (double)theta[0], 1e-6); /* the sign, times the rate */
    }
    adam_stop(&a);
    PASS();
}

TEST ratios_are_exact(void) {
    const rn_net_desc net = tiny_net();
    const trial t = tiny_trial(&honest_only, 0);
    rn_real from[DIM], to[DIM];
    episodes e;
    field f;
    field_start(&f, &t, &net, H);
    episodes_start(&e, &f.policy, 1, H);
    random_theta(1, 1, from);
    random_theta(2, 0.3, to);
    for (int i = 0; i < DIM; i++) to[i] += from[i];
    for (int k = 0; k < PATHS; k++) {
        (void)path(from, k, &e);
        field_log_ratio(&f, &e, from, to);
        for (int h = 0; h < H; h++) {
            const int s = e.obs[2 * h + 1] > 0, a = (int)e.act[h];
            ASSERT_IN_RANGE(log_pi(to, s, a) - log_pi(from, s, a), e.value[h], EXACT);
        }
    }
    episodes_stop(&e);
    field_stop(&f);
    PASS();
}

/* episodes are whole, adversaries alone act at random */
TEST agents_play(void) {
    const rn_net_desc net = tiny_net();
    const trial t = tiny_trial(&wild, 2);
    enum { MANY = 400 };
    episodes e;
    field f;
    field_start(&f, &t, &net, H);
    episodes_start(&e, &f.policy, MANY, MANY * H);
    for (int i = 0; i < DIM; i++) f.theta[i] = (rn_real)(i % 2 ? 40 : 0); /* always action 1 */
    for (size_t player = 0; player <= AGENTS; player++) {
        size_t ones = 0;
        episodes_clear(&e);
        while (e.count < MANY) field_play(&f, &e, player, H);
        ASSERT_EQ(MANY * H, (int)e.steps);
        for (size_t k = 0; k < e.steps; k++) {
            const int s = e.obs[2 * k + 1] > 0;
            if (k % H == 0) ASSERT_EQ(0, s);
            ASSERT_IN_RANGE(pays[s][(int)e.act[k]], e.reward[k], 0.0);
            ones += e.act[k] > 0;
        }
        if (player == 3 || player == 4)
            ASSERT(ones > MANY && ones < 2 * MANY); /* 600 and 17 deviations of it */
        else
            ASSERT_EQ(MANY * H, (int)ones);
    }
    ASSERT_IN_RANGE((double)((AGENTS + 1) * MANY * H), f.steps, 0.0);
    episodes_stop(&e);
    field_stop(&f);
    PASS();
}

/* an episode that fell, one that was cut, and what was seen last */
TEST episodes_end(void) {
    const rn_net_desc net = tiny_net();
    const trial t = tiny_trial(&honest_only, 0);
    int seen[2] = {0, 0};
    episodes e;
    field f;
    field_start(&f, &t, &net, H);
    episodes_start(&e, &f.policy, 50, 50 * H);
    falls = 1;
    while (e.count < 50) field_play(&f, &e, 0, H);
    falls = 0;
    for (size_t k = 0; k < e.count; k++) {
        const size_t T = e.end[k] - episode_begin(&e, k);
        ASSERT_EQ(e.fell[k], e.last[2 * k + 1] > 0);
        ASSERT(e.fell[k] || T == H);
        seen[e.fell[k]]++;
    }
    ASSERT(seen[0] > 0 && seen[1] > 0);
    episodes_stop(&e);
    field_stop(&f);
    PASS();
}

/* an adversary's row, and no other, is noise within 3 (max - min) of what it was */
TEST rows_are_attacked(void) {
    const rn_net_desc net = tiny_net();
    const trial t = tiny_trial(&noise, 2);
    field f;
    field_start(&f, &t, &net, H);
    for (size_t i = 0; i < AGENTS; i++)
        for (int k = 0; k < DIM; k++) f.row[i][k] = (rn_real)k;
    field_attack(&f);
    for (size_t i = 0; i < AGENTS; i++) {
        double most = 0;
        for (int k = 0; k < DIM; k++) most = fmax(most, fabs((double)f.row[i][k] - k));
        if (i < 3)
            ASSERT_IN_RANGE(0.0, most, 0.0);
        else
            ASSERT(most > 0.5 && most <= 9);
    }
    field_stop(&f);
    PASS();
}

/* a rival that has spent 7, 14, .. after each round: at x the last is shown that is not beyond */
static void sevens_start(void *state, field *f, const trial *t, const void *options) {
    (void)state;
    field_start(f, t, (const rn_net_desc *)options, H);
}

static void sevens_round(void *state, field *f) {
    (void)state;
    f->spent += 7;
    f->steps += 70;
    if (f->spent > 35) f->theta[0] = (rn_real)HUGE_VAL; /* and the run is over */
}

static void sevens_stop(void *state) { (void)state; }

TEST nothing_from_beyond_is_shown(void) {
    static const rival sevens = {1, sevens_start, sevens_round, sevens_stop};
    const rn_net_desc net = tiny_net();
    double x[5] = {0, 10, 14, 30, 60}, score[5], steps[5];
    const double want[5] = {0, 70, 140, 280, 350};
    trial t = tiny_trial(&honest_only, 0);
    t.points = 5;
    t.x = x;
    t.score = score;
    t.steps = steps;
    rival_run(&t, &sevens, &net);
    for (int p = 0; p < 5; p++) ASSERT_IN_RANGE(want[p], steps[p], 0.0);
    PASS();
}

/* ---- FedPG-BR */
static fedpg_br_options fedpg_br_tiny(void) {
    fedpg_br_options o;
    memset(&o, 0, sizeof o);
    o.net = tiny_net();
    o.horizon = H;
    o.least = 4;
    o.most = 6;
    o.b = 2;
    o.discount = 0.9;
    o.rate = 0.05;
    o.sigma = 1;
    o.delta = 0.6;
    o.alpha = 0.4;
    return o;
}

/* rows of one number */
static size_t filtered(const fedpg_br_options *o, const rn_real *x, size_t n, size_t B, int *good) {
    const rn_real *row[16];
    rn_real scratch[1];
    for (size_t i = 0; i < n; i++) row[i] = x + i;
    return fedpg_br_filter(o, row, n, 1, B, good, scratch);
}

TEST filter_by_hand(void) {
    const rn_real itself[4] = {0, (rn_real)0.4, (rn_real)0.8, 9}, wide[4] = {0, 1, 2, 9},
                  few[4] = {0, (rn_real)0.1, (rn_real)0.2, (rn_real)1.5}, lost[4] = {0, 10, 20, 30};
    fedpg_br_options o = fedpg_br_tiny();
    int good[4];
    /* 2 sqrt(2 ln(8/0.6) / 100) */
    ASSERT_IN_RANGE(0.4552157, fedpg_br_radius(&o, 4, 100), 1e-6);
    /* only 0.4 has three of four around it, and it is one of them */
    ASSERT_EQ(3, (int)filtered(&o, itself, 4, 100, good));
    ASSERT(good[0] && good[1] && good[2] && !good[3]);
    /* nobody within T; within 2 sigma three */
    ASSERT_EQ(3, (int)filtered(&o, wide, 4, 100, good));
    ASSERT(good[0] && good[1] && good[2] && !good[3]);
    /* three are fewer than (1 - alpha) 4: again, and wider */
    ASSERT_EQ(3, (int)filtered(&o, few, 4, 100, good));
    o.alpha = 0.1;
    ASSERT_EQ(4, (int)filtered(&o, few, 4, 100, good));
    ASSERT_EQ(0, (int)filtered(&o, lost, 4, 100, good));
    PASS();
}

/* the definition once more, from a table of distances; -1: two could be Med */
static int brute_pass(double (*d)[9], rn_real (*x)[2], size_t n, double radius, int *good) {
    double mean[2] = {0, 0}, members = 0, least = HUGE_VAL;
    int in[9], med = -1, count = 0;
    for (size_t i = 0; i < n; i++) {
        int around = 0;
        for (size_t j = 0; j < n; j++) around += d[i][j] <= radius;
        in[i] = around > (double)n / 2;
        members += in[i];
        for (int k = 0; k < 2; k++) mean[k] += in[i] ? (double)x[i][k] : 0;
    }
    for (size_t i = 0; i < n; i++) {
        const double far =
            hypot((double)x[i][0] - mean[0] / members, (double)x[i][1] - mean[1] / members);
        if (in[i] && fabs(far - least) < 1e-5) return -1;
        if (in[i] && far < least) least = far, med = (int)i;
    }
    for (size_t i = 0; i < n; i++) good[i] = med >= 0 && d[med][i] <= radius;
    for (size_t i = 0; i < n; i++) count += good[i];
    return count;
}

TEST filter_by_brute_force(void) {
    rn_random r = rn_make_random(3, 0);
    const agg_rng rng = rn_random_rng(&r);
    fedpg_br_options o = fedpg_br_tiny();
    int seen[3] = {0, 0, 0}; /* first pass, second, nobody */
    o.alpha = 0.25;
    for (int round = 0; round < 3000; round++) {
        const size_t n = 3 + rn_draw_below(&rng, 7);
        const double size = 0.2 + 4 * rn_draw_uniform(&rng);
        rn_real x[9][2], scratch[2];
        const rn_real *row[9];
        double d[9][9];
        int good[9], want[9];
        for (size_t i = 0; i < n; i++) {
            for (int k = 0; k < 2; k++) x[i][k] = (rn_real)(size * rn_draw_normal(&rng));
            row[i] = x[i];
        }
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                d[i][j] =
                    hypot((double)x[i][0] - (double)x[j][0], (double)x[i][1] - (double)x[j][1]);
        int count = brute_pass(d, x, n, fedpg_br_radius(&o, n, 20), want);
        const int again = count >= 0 && count < 0.75 * (double)n;
        if (again) count = brute_pass(d, x, n, 2, want);
        if (count < 0) continue;
        seen[count == 0 ? 2 : again]++;
        ASSERT_EQ(count, (int)fedpg_br_filter(&o, row, n, 2, 20, good, scratch));
        for (size_t i = 0; count && i < n; i++) ASSERT_EQ(want[i], good[i]);
    }
    for (int k = 0; k < 3; k++) ASSERT(seen[k] > 200);
    PASS();
}

/* returns 1.19, 0.9 + 0.19.., by hand; mean 0 and deviation 1 (of n-1) */
TEST returns_are_whitened(void) {
    const double reward[3] = {1, -1, 2};
    const double G[3] = {1 + 0.9 * (-1 + 0.9 * 2), -1 + 0.9 * 2, 2};
    const double mean = (G[0] + G[1] + G[2]) / 3;
    double scratch[3], squares = 0;
    rn_real w[3], alone[1] = {9};
    for (int t = 0; t < 3; t++) squares += (G[t] - mean) * (G[t] - mean);
    fedpg_br_whiten(reward, 3, 0.9, w, scratch);
    for (int t = 0; t < 3; t++)
        ASSERT_IN_RANGE((G[t] - mean) / sqrt(squares / 2), (double)w[t], 1e-6);
    fedpg_br_whiten(reward, 1, 0.9, alone, scratch); /* has no deviation */
    ASSERT_IN_RANGE(0.0, (double)alone[0], 0.0);
    PASS();
}

/* at n = 0 all weights are 1, and the step is along mu */
TEST first_step_is_mu(void) {
    const fedpg_br_options o = fedpg_br_tiny();
    const trial t = tiny_trial(&honest_only, 0);
    fedpg_br s;
    field f;
    memset(&s, 0, sizeof s);
    fedpg_br_start(&s, &f, &t, &o);
    memcpy(s.theta_0, f.theta, DIM * sizeof *f.theta);
    for (int i = 0; i < DIM; i++) s.mu[i] = (rn_real)(i + 1);
    ASSERT(fedpg_br_step(&s, &f, 1));
    for (size_t k = 0; k < s.batch.steps; k++)
        ASSERT_IN_RANGE((double)s.batch.weight[k], (double)s.batch.more[k], 0.0);
    for (int i = 0; i < DIM; i++) {
        ASSERT_IN_RANGE((double)s.mu[i], (double)s.g[i], EXACT);
        ASSERT_IN_RANGE((double)s.theta_0[i] + o.rate, (double)f.theta[i], EXACT);
    }
    /* far from theta_0 the weights are not, and the batch is thrown away */
    for (int i = 0; i < DIM; i += 2) f.theta[i] += 2;
    memcpy(s.mu, f.theta, DIM * sizeof *f.theta);
    ASSERT_FALSE(fedpg_br_step(&s, &f, 1));
    ASSERT_MEM_EQ(s.mu, f.theta, DIM * sizeof *f.theta);
    ASSERT(fedpg_br_step(&s, &f, 0)); /* without mu nothing is thrown away */
    fedpg_br_stop(&s);
    field_stop(&f);
    PASS();
}

TEST geometric(void) {
    rn_random r = rn_make_random(4, 0);
    const agg_rng rng = rn_random_rng(&r);
    double sum = 0, ones = 0;
    for (int k = 0; k < 20000; k++) {
        const size_t n = fedpg_br_geometric(&rng, 0.25);
        ASSERT(n >= 1);
        sum += (double)n / 20000;
        ones += (n == 1) / 20000.0;
    }
    ASSERT_IN_RANGE(4.0, sum, 0.1);
    ASSERT_IN_RANGE(0.25, ones, 0.012);
    PASS();
}

/* ---- Byz-PG */
/* over all paths of theta: E w g(theta_old) = grad J(theta_old) */
TEST weights_carry_the_old_gradient(void) {
    const rn_net_desc net = tiny_net();
    const trial t = tiny_trial(&honest_only, 0);
    rn_real theta[DIM], old[DIM], g[DIM];
    double sum[DIM] = {0}, plain[DIM] = {0}, off = 0;
    episodes e;
    field f;
    field_start(&f, &t, &net, H);
    episodes_start(&e, &f.policy, 1, H);
    random_theta(1, 0.7, theta);
    random_theta(2, 0.5, old);
    for (int k = 0; k < PATHS; k++) {
        const double p = path(theta, k, &e);
        byz_pg_weights(&e, 0.9);
        byz_pg_ratios(&f, &e, theta, old);
        field_gradient(&f, &e, old, e.more, 1, g);
        for (int i = 0; i < DIM; i++) sum[i] += p * (double)g[i];
        field_gradient(&f, &e, old, e.weight, 1, g);
        for (int i = 0; i < DIM; i++) plain[i] += p * (double)g[i];
    }
    for (int i = 0; i < DIM; i++) {
        const rn_real step = (rn_real)0.015625, at = old[i];
        double J[4]; /* differences of the fourth order */
        for (int k = 0; k < 4; k++) {
            old[i] = at + (rn_real)(k < 2 ? k - 2 : k - 1) * step;
            J[k] = value(old, 0.9, &e);
        }
        old[i] = at;
        const double slope = (J[0] - 8 * J[1] + 8 * J[2] - J[3]) / (12 * (double)step);
        ASSERT_IN_RANGE(slope, sum[i], 1e-4);
        off = fmax(off, fabs(slope - plain[i]));
    }
    ASSERT(off > 0.01); /* without the weights it is another gradient */
    episodes_stop(&e);
    field_stop(&f);
    PASS();
}

static void weiszfeld(const rn_real (*x)[2], size_t n, int steps, double *z) {
    z[0] = z[1] = 0;
    for (int s = 0; s < steps; s++) {
        double sum[2] = {0, 0}, total = 0;
        for (size_t i = 0; i < n; i++) {
            const double far = hypot((double)x[i][0] - z[0], (double)x[i][1] - z[1]);
            const double w = 1 / (far > 0.1 ? far : 0.1);
            total += w;
            for (int k = 0; k < 2; k++) sum[k] += w * (double)x[i][k];
        }
        for (int k = 0; k < 2; k++) z[k] = sum[k] / total;
    }
}

TEST median_takes_eight_steps(void) {
    const rn_real x[5][2] = {{3, 1}, {9, 5}, {4, -2}, {50, 80}, {-7, 2}};
    const rn_real *row[5] = {x[0], x[1], x[2], x[3], x[4]};
    double z[2], other[2], weight[5];
    rn_real got[2];
    weiszfeld(x, 5, 8, z);
    byz_pg_median(row, 5, 2, got, weight);
    for (int k = 0; k < 2; k++) ASSERT_IN_RANGE(z[k], (double)got[k], 1e-5);
    for (int s = 7; s <= 9; s += 2) {
        weiszfeld(x, 5, s, other);
        ASSERT(hypot(other[0] - z[0], other[1] - z[1]) > 1e-3);
    }
    PASS();
}

static byz_pg_options byz_pg_tiny(void) {
    byz_pg_options o;
    memset(&o, 0, sizeof o);
    o.net = tiny_net();
    o.horizon = H;
    o.N = 12;
    o.B = 3;
    o.p = 0.25;
    o.discount = 0.9;
    o.rate = 0.05;
    return o;
}

/* with theta_old = theta the weights are 1 and v stays as it is */
TEST recursion_keeps_v(void) {
    const byz_pg_options o = byz_pg_tiny();
    const trial t = tiny_trial(&honest_only, 0);
    rn_real before[DIM];
    byz_pg s;
    field f;
    memset(&s, 0, sizeof s);
    byz_pg_start(&s, &f, &t, &o);
    byz_pg_agent(&s, &f, 2, 1);
    memcpy(before, s.v + 2 * DIM, sizeof before);
    ASSERT_MEM_EQ(before, f.row[2], sizeof before);
    memcpy(s.theta_old, f.theta, sizeof before);
    byz_pg_agent(&s, &f, 2, 0);
    for (int i = 0; i < DIM; i++) ASSERT_IN_RANGE((double)before[i], (double)f.row[2][i], EXACT);
    byz_pg_stop(&s);
    field_stop(&f);
    PASS();
}

/* ---- Fed-ADMM */
static fed_admm_options fed_admm_tiny(agg_rule rule) {
    fed_admm_options o;
    memset(&o, 0, sizeof o);
    o.net = tiny_net();
    o.horizon = H;
    o.steps = 400;
    o.delta = 0.01;
    o.damping = 0.1;
    o.rho = 0.1;
    o.cg = 10;
    o.critic[0] = 4;
    o.passes = 2;
    o.critic_rate = 1e-2;
    o.rule = rule;
    return o;
}

/* a[DIM][DIM+1], by Gauss; the answer is in the last column */
static void eliminate(double (*a)[DIM + 1]) {
    for (int c = 0; c < DIM; c++)
        for (int r = 0; r < DIM; r++) {
            const double q = r == c ? 0 : a[r][c] / a[c][c];
            for (int k = c; r != c && k <= DIM; k++) a[r][k] -= q * a[c][k];
        }
    for (int r = 0; r < DIM; r++) a[r][DIM] /= a[r][r];
}

TEST conjugate_gradients_solve(void) {
    const rn_net_desc net = tiny_net();
    const trial t = tiny_trial(&honest_only, 0);
    rn_real b[DIM], y[DIM], h[DIM], scratch[3 * DIM];
    double a[DIM][DIM + 1];
    episodes e;
    field f;
    field_start(&f, &t, &net, 90);
    episodes_start(&e, &f.policy, 30, 90);
    random_theta(6, 1, f.theta);
    random_theta(7, 1, b);
    while (e.count < 30) field_play(&f, &e, 0, H);
    memset(a, 0, sizeof a);
    for (size_t k = 0; k < e.steps; k++) { /* mean of score score', by hand: e_action - pi */
        const int s = e.obs[2 * k + 1] > 0, act = (int)e.act[k];
        double score[DIM] = {0};
        for (int j = 0; j < 2; j++) score[2 * s + j] = (j == act) - exp(log_pi(f.theta, s, j));
        for (int i = 0; i < DIM; i++)
            for (int j = 0; j < DIM; j++) a[i][j] += score[i] * score[j] / (double)e.steps;
    }
    for (int i = 0; i < DIM; i++) {
        a[i][i] += 0.2;
        a[i][DIM] = (double)b[i];
    }
    const fed_admm_matrix m = {&f, &e, 0.2};
    fed_admm_product(&m, b, h);
    for (int i = 0; i < DIM; i++) {
        double want = 0;
        for (int j = 0; j < DIM; j++) want += a[i][j] * (double)b[j];
        ASSERT_IN_RANGE(want, (double)h[i], EXACT);
    }
    eliminate(a);
    fed_admm_solve(&m, b, 10, y, scratch);
    for (int i = 0; i < DIM; i++) ASSERT_IN_RANGE(a[i][DIM], (double)y[i], 10 * EXACT);
    episodes_stop(&e);
    field_stop(&f);
    PASS();
}

/* deltas 1 + 0.99 3 - 2 and -1 + 0.99 5 - 3 */
TEST advantages_by_hand(void) {
    const double reward[2] = {1, -1}, v[2] = {2, 3}, last = -1 + 0.99 * 5 - 3;
    const double x[4] = {1, 2, 3, 6};
    double a[2];
    rn_real n[4];
    fed_admm_gae(reward, v, 2, 5, a);
    ASSERT_IN_RANGE(last, a[1], 1e-12);
    ASSERT_IN_RANGE(1 + 0.99 * 3 - 2 + 0.99 * 0.95 * last, a[0], 1e-12);
    fed_admm_normalise(x, 4, n);
    for (int i = 0; i < 4; i++) ASSERT_IN_RANGE((x[i] - 3) / sqrt(3.5), (double)n[i], 1e-6);
    PASS();
}

/* V of the tiny task's two states: the critic learns what it is told, and its deviation stays 1 */
TEST critic_learns(void) {
    const fed_admm_options o = fed_admm_tiny(AGG_MEAN);
    const trial t = tiny_trial(&honest_only, 0);
    fed_admm s;
    field f;
    rn_real obs[4] = {1, 0, 0, 1};
    double v[2];
    memset(&s, 0, sizeof s);
    fed_admm_start(&s, &f, &t, &o);
    episodes *e = &s.agent[0].batch;
    const fed_admm_critic *c = &s.agent[0].critic;
    while (e->steps < o.steps) field_play(&f, e, 0, H);
    for (size_t k = 0; k < e->steps; k++) e->more[k] = e->obs[2 * k + 1] > 0 ? -1 : 2;
    for (int k = 0; k < 40; k++) fed_admm_teach(&s, &f, 0);
    fed_admm_values(c, obs, 2, v, f.work);
    ASSERT_IN_RANGE(2.0, v[0], 0.05);
    ASSERT_IN_RANGE(-1.0, v[1], 0.05);
    ASSERT_IN_RANGE(0.0, (double)c->theta[c->policy.dim - 1], 0.0);
    fed_admm_stop(&s);
    field_stop(&f);
    PASS();
}

/* what comes after the end counts if the episode was cut, not if it fell */
TEST cut_or_fallen(void) {
    const fed_admm_options o = fed_admm_tiny(AGG_MEAN);
    const trial t = tiny_trial(&honest_only, 0);
    fed_admm s;
    field f;
    memset(&s, 0, sizeof s);
    fed_admm_start(&s, &f, &t, &o);
    episodes *e = &s.agent[0].batch;
    for (int k = 0; k < 2; k++) field_play(&f, e, 0, H);
    e->fell[1] = 1;
    fed_admm_advantages(&s, &f, 0);
    for (int k = 0; k < 2; k++) {
        const size_t last = e->end[k] - 1;
        double v, after;
        fed_admm_values(&s.agent[0].critic, e->obs + 2 * last, 1, &v, f.work);
        fed_admm_values(&s.agent[0].critic, e->last + 2 * k, 1, &after, f.work);
        ASSERT(fabs(after) > 1e-4);
        ASSERT_IN_RANGE(e->reward[last] - v + (k ? 0 : 0.99 * after), e->value[last], 1e-12);
        ASSERT_IN_RANGE(e->value[last] + v, (double)e->more[last], EXACT);
    }
    fed_admm_stop(&s);
    field_stop(&f);
    PASS();
}

/* (H + rho) y_i = g_i - lambda_i + rho y */
TEST an_agent_solves_its_equation(void) {
    const fed_admm_options o = fed_admm_tiny(AGG_MEAN);
    const trial t = tiny_trial(&honest_only, 0);
    rn_real g[DIM], left[DIM];
    fed_admm s;
    field f;
    memset(&s, 0, sizeof s);
    fed_admm_start(&s, &f, &t, &o);
    fed_admm_agent *a = &s.agent[1];
    random_theta(8, 1, s.y);
    random_theta(9, 1, a->lambda);
    fed_admm_agent_round(&s, &f, 1);
    const fed_admm_matrix m = {&f, &a->batch, o.damping + o.rho};
    fed_admm_product(&m, a->y, left);
    field_gradient(&f, &a->batch, f.theta, a->batch.weight, 1 / (double)a->batch.steps, g);
    for (int i = 0; i < DIM; i++)
        ASSERT_IN_RANGE((double)g[i] - (double)a->lambda[i] + o.rho * (double)s.y[i],
                        (double)left[i], EXACT);
    ASSERT_MEM_EQ(a->y, f.row[1], sizeof g);
    fed_admm_stop(&s);
    field_stop(&f);
    PASS();
}

/* the duals sum to 0 for ever, a step has the KL that it may have */
TEST duals_sum_to_zero(void) {
    const fed_admm_options o = fed_admm_tiny(AGG_MEAN);
    const trial t = tiny_trial(&honest_only, 0);
    fed_admm s;
    field f;
    memset(&s, 0, sizeof s);
    fed_admm_start(&s, &f, &t, &o);
    for (int round = 0; round < 5; round++) {
        double most = 0;
        rn_real before[DIM];
        memcpy(before, f.theta, sizeof before);
        fed_admm_round(&s, &f);
        for (int i = 0; i < DIM; i++) {
            double sum = 0;
            for (int a = 0; a < AGENTS; a++) {
                sum += (double)s.agent[a].lambda[i];
                most = fmax(most, fabs((double)s.agent[a].lambda[i]));
            }
            ASSERT_IN_RANGE(0.0, sum, EXACT);
            s.y[i] = f.theta[i] - before[i];
        }
        ASSERT(most > 1e-3);
        memcpy(before, f.theta, sizeof before);
        for (int i = 0; i < DIM; i++) f.theta[i] -= s.y[i]; /* where the batches were played */
        ASSERT_IN_RANGE(o.delta, fed_admm_curvature(&s, &f) / 2, 1e-4 * o.delta);
        memcpy(f.theta, before, sizeof before);
    }
    fed_admm_stop(&s);
    field_stop(&f);
    PASS();
}

/* ---- all three: the same bits twice, and they learn, two of five sending noise */
static void run_of(const rival *r, const void *options, double *score) {
    trial t = tiny_trial(&noise, 2);
    double x[21], steps[21];
    t.points = 21;
    t.x = x;
    t.score = score;
    t.steps = steps;
    for (int p = 0; p < 21; p++) x[p] = 40.0 * p;
    rival_run(&t, r, options);
}

TEST they_learn_and_repeat(void) {
    const fedpg_br_options br = fedpg_br_tiny();
    const byz_pg_options byz = byz_pg_tiny();
    fed_admm_options admm = fed_admm_tiny(AGG_CWMED);
    admm.steps = 150;
    const rival *const r[3] = {&fedpg_br_rival, &byz_pg_rival, &fed_admm_rival};
    const void *const options[3] = {&br, &byz, &admm};
    for (int k = 0; k < 3; k++) {
        double a[21], b[21], end = 0;
        run_of(r[k], options[k], a);
        run_of(r[k], options[k], b);
        ASSERT_MEM_EQ(a, b, sizeof a);
        for (int p = 17; p < 21; p++) end += a[p] / 4;
        ASSERT(end > 2.3); /* 2.47 is the most, on average */
    }
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    honest_only = attack_of_kind(RN_ATTACK_NONE, "none");
    noise = attack_of_vector(AGG_ATTACK_NOISE);
    wild = attack_of_kind(RN_ATTACK_RANDOM_ACTION, "random action");
    GREATEST_MAIN_BEGIN();
    RUN_TEST(adam_is_adam);
    RUN_TEST(ratios_are_exact);
    RUN_TEST(agents_play);
    RUN_TEST(episodes_end);
    RUN_TEST(rows_are_attacked);
    RUN_TEST(nothing_from_beyond_is_shown);
    RUN_TEST(filter_by_hand);
    RUN_TEST(filter_by_brute_force);
    RUN_TEST(returns_are_whitened);
    RUN_TEST(first_step_is_mu);
    RUN_TEST(geometric);
    RUN_TEST(weights_carry_the_old_gradient);
    RUN_TEST(median_takes_eight_steps);
    RUN_TEST(recursion_keeps_v);
    RUN_TEST(conjugate_gradients_solve);
    RUN_TEST(advantages_by_hand);
    RUN_TEST(critic_learns);
    RUN_TEST(cut_or_fallen);
    RUN_TEST(an_agent_solves_its_equation);
    RUN_TEST(duals_sum_to_zero);
    RUN_TEST(they_learn_and_repeat);
    GREATEST_MAIN_END();
}
