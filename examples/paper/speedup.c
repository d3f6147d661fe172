/* speedup: the paper's theorem where everything is known. A random but fixed MDP of three states
   and two actions, a softmax table, Algorithm 1 with the theorem's schedules; dynamic programming
   gives J*, J, grad J_H and the Fisher information exactly, so every error below is measured, not
   estimated. What is asked:
       a   does ||d_t - grad J_H(theta_t)|| fall like t^-1/2?
       b   does it fall like N^-1/2 while f = sqrt(N) agents are Byzantine? For which rules?
       c   does J* - J(theta_T) stay below the finite-T bound, and how does it fall?
       d   what if f = N^delta?
   The Fisher information of a softmax table is not bounded below, so the theorem's assumption needs
   two repairs:
     - Adding a constant to the logits of a state changes nothing: that direction has no
       information. But with two actions gradients, Hessian products and all rules keep theta where
       the logits of a state sum to 0, and in that subspace the least eigenvalue is
       min_s d(s) 2 p(1-p).
     - p(1-p) goes to 0 as a policy gets sure of itself. So theta is kept in a ball (server.radius);
       muF is the least eigenvalue over the whole ball, a lower bound by formula. The projection is
       not in the paper's Algorithm 1. */
#define _POSIX_C_SOURCE 200809L
#define AGG_DOUBLE
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include "paper.h"
#include "../explain.h"
#include "../pool.h"

enum { S = 3, A = 2, DIM = S * A, MAX_H = 64, RULES = 6, SIZES = 7 };
enum { MAX_POINTS = 16, MAX_SEEDS = 32, MAX_CELLS = 96 };

static const double discount = 0.5, radius = 1.0, attack_strength = 1.5, G2 = 0.5;
static const agg_rule rules[RULES] = {AGG_MDA, AGG_CWTM, AGG_MEAMED, AGG_CWMED, AGG_KRUM, AGG_GM};
static const size_t sizes[SIZES] = {16, 36, 64, 144, 256, 576, 1024};
static const double delta[3] = {0.25, 0.5, 0.75};

/* ---- the MDP: rewards in [0,1], transitions half uniform and half random, uniform start */
static double reward[S][A], next_state[S][A][S];

static void make_mdp(void) {
    rn_random r = rn_make_random(5, 0);
    const agg_rng rng = rn_random_rng(&r);
    for (int s = 0; s < S; s++)
        for (int a = 0; a < A; a++) {
            double sum = 0;
            reward[s][a] = rn_draw_uniform(&rng);
            for (int k = 0; k < S; k++) sum += next_state[s][a][k] = rn_draw_uniform(&rng);
            for (int k = 0; k < S; k++)
                next_state[s][a][k] = 0.5 / S + 0.5 * next_state[s][a][k] / sum;
        }
}

static void mdp_reset(void *self, const agg_rng *rng, rn_real *obs) {
    *(int *)self = (int)rn_draw_below(rng, S);
    obs[0] = *(int *)self;
}

static rn_step_result mdp_step(void *self, const rn_real *act, const agg_rng *rng, rn_real *obs,
                               double *r) {
    int *s = (int *)self, k = 0;
    const int a = act[0] > 0;
    double u = rn_draw_uniform(rng);
    *r = reward[*s][a];
    while (k < S - 1 && (u -= next_state[*s][a][k]) >= 0) k++;
    obs[0] = *s = k;
    return RN_RUNNING;
}

/* ---- what is known about it */
typedef struct known {
    double best, ball, start; /* J*, the largest J in the ball, J(0) */
    double G1, muF;           /* the theorem's constants */
} known;

static void policy_of(const double *theta, double p[S][A]) {
    for (int s = 0; s < S; s++) {
        p[s][1] = 1 / (1 + exp(theta[A * s] - theta[A * s + 1]));
        p[s][0] = 1 - p[s][1];
    }
}

static double action_value(int s, int a, const double v[S]) {
    double sum = 0;
    for (int k = 0; k < S; k++) sum += next_state[s][a][k] * v[k];
    return reward[s][a] + discount * sum;
}

/* J_H(theta) and, if grad is given, its gradient: sum_t discount^t P(s_t = s) pi(a|s) (Q - V), with
   H-t steps to go. */
static double value_and_gradient(const double *theta, size_t H, double *grad) {
    double p[S][A], v[MAX_H + 1][S], visit[S], J = 0, scale = 1;
    policy_of(theta, p);
    for (int s = 0; s < S; s++) {
        v[0][s] = 0;
        visit[s] = 1.0 / S;
    }
    for (size_t h = 1; h <= H; h++)
        for (int s = 0; s < S; s++)
            v[h][s] =
                p[s][0] * action_value(s, 0, v[h - 1]) + p[s][1] * action_value(s, 1, v[h - 1]);
    for (int s = 0; s < S; s++) J += v[H][s] / S;
    for (int i = 0; grad && i < DIM; i++) grad[i] = 0;
    for (size_t t = 0; grad && t < H; t++, scale *= discount) {
        double then[S] = {0};
        for (int s = 0; s < S; s++)
            for (int a = 0; a < A; a++) {
                grad[A * s + a] +=
                    scale * visit[s] * p[s][a] * (action_value(s, a, v[H - t - 1]) - v[H - t][s]);
                for (int k = 0; k < S; k++) then[k] += visit[s] * p[s][a] * next_state[s][a][k];
            }
        memcpy(visit, then, sizeof visit);
    }
    return J;
}

/* 0.5^64: exact */
static double value_of(const double *theta) { return value_and_gradient(theta, MAX_H, NULL); }

/* J*: value iteration */
static double best_value(void) {
    double v[S] = {0}, J = 0;
    for (int i = 0; i < 200; i++)
        for (int s = 0; s < S; s++) v[s] = fmax(action_value(s, 0, v), action_value(s, 1, v));
    for (int s = 0; s < S; s++) J += v[s] / S;
    return J;
}

static double norm(const double *x) {
    double s = 0;
    for (int i = 0; i < DIM; i++) s += x[i] * x[i];
    return sqrt(s);
}

/* projected gradient ascent with the exact gradient */
static double best_in_ball(void) {
    double theta[DIM] = {0}, grad[DIM];
    for (int i = 0; i < 20000; i++) {
        value_and_gradient(theta, MAX_H, grad);
        for (int k = 0; k < DIM; k++) theta[k] += grad[k];
        const double scale = fmin(1, radius / norm(theta));
        for (int k = 0; k < DIM; k++) theta[k] *= scale;
    }
    return value_of(theta);
}

/* The least share of time any policy spends in any state, (1-discount) sum_t discount^t P(s_t = s):
   deterministic policies are the extremes, so trying all of them is enough. */
static double least_visit(void) {
    double least = 1;
    for (unsigned choice = 0; choice < 1u << S; choice++) {
        double visit[S], share[S] = {0}, scale = 1 - discount;
        for (int s = 0; s < S; s++) visit[s] = 1.0 / S;
        for (int t = 0; t < MAX_H; t++, scale *= discount) {
            double then[S] = {0};
            for (int s = 0; s < S; s++) {
                share[s] += scale * visit[s];
                for (int k = 0; k < S; k++) then[k] += visit[s] * next_state[s][choice >> s & 1][k];
            }
            memcpy(visit, then, sizeof visit);
        }
        for (int s = 0; s < S; s++) least = fmin(least, share[s]);
    }
    return least;
}

static known know(void) {
    known k;
    const double zero[DIM] = {0};
    const double p =
        1 / (1 + exp(-sqrt(2.0) * radius)); /* as sure as a policy in the ball can be */
    k.best = best_value();
    k.ball = best_in_ball();
    k.start = value_of(zero);
    k.G1 = sqrt(2.0) * p; /* ||e_a - pi|| = sqrt(2) (1 - pi(a)) */
    k.muF = least_visit() * 2 * p * (1 - p);
    return k;
}

/* ---- runs */
typedef struct cell { /* one setting, all its seeds; columns are t = 1, 2, 4, .. */
    agg_rule rule;
    size_t n, f, rounds, points, seeds;
    int free; /* no ball, and steps of 2/(t+2): what one would try without the theorem */
    double error[MAX_SEEDS * MAX_POINTS], gap[MAX_SEEDS * MAX_POINTS]; /* seeds rows of points */
} cell;

typedef struct study {
    known k;
    rn_table table;
    rn_policy policy;
    size_t seeds, first_seeds, horizon, rounds;
    size_t late, late_sizes; /* the fixed t of panels b and d, and how many sizes they have */
    cell cell[MAX_CELLS];
    size_t cells, jobs, job_cell[MAX_CELLS * MAX_SEEDS], job_seed[MAX_CELLS * MAX_SEEDS];
    cell *rule[RULES], *honest, *free;              /* a, c: long runs of 16 agents */
    cell *first[RULES][SIZES];                      /* b: one round */
    cell *later[RULES][SIZES], *by_delta[3][SIZES]; /* b, d: `late` rounds */
    paper_progress progress;
    paper_store store;
} study;

/* Generators of our own: one seed for each agent. (Streams of one seed take N^2 jumps to make, much
   for N = 1024.) */
typedef struct seat {
    int state;
    rn_random random;
} seat;

static rn_trainer *make_trainer(const study *st, const cell *c, size_t seed, seat *seats) {
    rn_trainer *trainer = NULL;
    rn_env *envs = (rn_env *)calloc(c->n, sizeof *envs);
    agg_rng *rngs = (agg_rng *)calloc(c->n, sizeof *rngs);
    rn_trainer_desc d;
    if (!envs || !rngs || !seats) exit(1);
    for (size_t i = 0; i < c->n; i++) {
        envs[i].self = &seats[i].state;
        envs[i].reset = mdp_reset;
        envs[i].step = mdp_step;
        envs[i].obs_dim = envs[i].act_dim = 1;
        envs[i].actions = A;
        seats[i].random = rn_make_random((c->n * 1000 + seed) * 10000 + i, 0);
        rngs[i] = rn_random_rng(&seats[i].random);
    }
    memset(&d, 0, sizeof d);
    d.agents = c->n;
    d.envs = envs;
    d.rngs = rngs;
    d.policy = st->policy;
    d.method.discount = discount;
    d.method.horizon = st->horizon;
    d.server.agg.rule = c->rule;
    d.server.agg.f = c->f;
    d.server.eta = rn_theory_eta();
    d.server.gamma = c->free ? rn_theory_gamma(1, 3) : rn_theory_gamma(st->k.G1, st->k.muF);
    d.server.radius = c->free ? 0 : radius;
    d.adversaries = c->f;
    d.attack.vector.kind = AGG_ATTACK_ALIE;
    d.attack.vector.strength = attack_strength;
    const rn_status s = explain_trainer(rn_trainer_create(&trainer, &d), &d);
    if (s != RN_OK) exit(1);
    free(envs);
    free(rngs);
    return trainer;
}

static void train(const study *st, const cell *c, size_t seed, double *error, double *gap) {
    seat *seats = (seat *)calloc(c->n, sizeof *seats);
    rn_trainer *trainer = make_trainer(st, c, seed, seats);
    for (size_t t = 1, point = 0; t <= c->rounds; t++) {
        double theta[DIM], grad[DIM];
        /* theta_t: the round moves on to theta_{t+1} */
        memcpy(theta, rn_trainer_theta(trainer), sizeof theta);
        if (rn_trainer_run_round(trainer) != RN_OK) exit((fprintf(stderr, "a round failed\n"), 1));
        if (t != (size_t)1 << point) continue;
        value_and_gradient(theta, st->horizon, grad);
        for (int k = 0; k < DIM; k++) grad[k] -= rn_server_direction(rn_trainer_server(trainer))[k];
        error[point] = norm(grad);
        gap[point++] = st->k.best - value_of(theta);
    }
    rn_trainer_destroy(trainer);
    free(seats);
}

static void job(void *arg, size_t index) {
    study *st = (study *)arg;
    const size_t seed = st->job_seed[index];
    cell *c = &st->cell[st->job_cell[index]];
    double both[2 * MAX_POINTS];
    char key[80];
    snprintf(key, sizeof key, "%s,%d,%d,%d,%d,%d", agg_rule_name(c->rule), (int)c->n, (int)c->f,
             (int)c->rounds, c->free, (int)seed);
    if (!paper_store_find(&st->store, key, both, 2 * c->points)) {
        train(st, c, seed, both, both + c->points);
        paper_store_add(&st->store, key, both, 2 * c->points);
    }
    memcpy(c->error + seed * c->points, both, c->points * sizeof *both);
    memcpy(c->gap + seed * c->points, both + c->points, c->points * sizeof *both);
    paper_progress_add(&st->progress, (double)(c->n * c->rounds));
}

static cell *add_cell(study *st, agg_rule rule, size_t n, size_t f, size_t rounds, size_t seeds) {
    cell *c = &st->cell[st->cells++];
    if (st->cells > MAX_CELLS) exit(1);
    c->rule = rule;
    c->n = n;
    c->f = f;
    c->rounds = rounds;
    c->seeds = seeds;
    for (c->points = 0; (size_t)1 << c->points <= rounds;) c->points++;
    return c;
}

static size_t power(size_t n, double e) { return (size_t)floor(pow((double)n, e) + 1e-9); }

static void plan(study *st) {
    for (int r = 0; r < RULES; r++)
        st->rule[r] = add_cell(st, rules[r], 16, 4, st->rounds, st->seeds);
    st->honest = add_cell(st, AGG_MEAN, 16, 0, st->rounds, st->seeds);
    st->free = add_cell(st, AGG_MDA, 16, 4, st->rounds, st->seeds);
    st->free->free = 1;
    for (size_t i = st->late_sizes; i-- > 0;) {
        for (int r = 0; r < RULES; r++)
            st->later[r][i] =
                add_cell(st, rules[r], sizes[i], power(sizes[i], 0.5), st->late, st->seeds);
        for (int k = 0; k < 3 && i > 0; k++) /* 16^0.75 is half of 16: too many */
            st->by_delta[k][i] = k == 1 ? st->later[1][i]
                                        : add_cell(st, AGG_CWTM, sizes[i],
                                                   power(sizes[i], delta[k]), st->late, st->seeds);
    }
    for (int i = 0; i < SIZES; i++)
        for (int r = 0; r < RULES; r++)
            st->first[r][i] =
                add_cell(st, rules[r], sizes[i], power(sizes[i], 0.5), 1, st->first_seeds);
}

/* 1 if an earlier run had left results */
static int run_all(study *st) {
    pool p;
    double total = 0;
    char settings[80], part[64];
    for (size_t i = 0; i < st->cells; i++)
        for (size_t seed = 0; seed < st->cell[i].seeds; seed++) {
            st->job_cell[st->jobs] = i;
            st->job_seed[st->jobs++] = seed;
            total += (double)(st->cell[i].n * st->cell[i].rounds);
        }
    snprintf(settings, sizeof settings, "speedup 1, %d rounds", (int)st->rounds);
    if (paper_store_open(&st->store, paper_path(part, "speedup", st->rounds < 4096, "part"),
                         settings) != 0)
        exit((fprintf(stderr, "cannot write build/speedup.part\n"), 1));
    const int resumed = st->store.text != NULL;
    paper_progress_start(&st->progress, total);
    pool_start(&p, paper_cores());
    pool_run(&p, st->jobs, job, st);
    pool_stop(&p);
    paper_store_close(&st->store, 1);
    return resumed;
}

/* ---- what the paper promises */
static rn_assumptions theory(const study *st, const cell *c) {
    rn_assumptions p;
    memset(&p, 0, sizeof p);
    p.G1 = st->k.G1;
    p.G2 = G2;
    p.R = 1;
    p.discount = discount;
    p.muF = st->k.muF; /* eps_bias = 0: a full table */
    p.lambda = agg_lambda(c->rule, c->n, c->f, DIM);
    p.gap = st->k.best - st->k.start;
    p.n = c->n;
    p.f = c->f;
    return p;
}

static double gap_bound(const study *st, const cell *c, double t) {
    const rn_assumptions p = theory(st, c);
    return rn_theory_bound(&p, t);
}

/* of E ||d_t - grad J_H||, the lemma before it */
static double error_bound(const study *st, const cell *c, double t) {
    const rn_assumptions p = theory(st, c);
    const rn_constants k = rn_theory_constants(&p, t);
    const double m = (double)(c->n - c->f);
    return 4 * exp(2) * k.C1 * p.lambda / (t + 1) +
           2 * k.C1 * p.lambda * sqrt(2 * log(m * (t + 1)) / (t + 1)) +
           sqrt(k.C2 * (1 + log(t)) / (m * t));
}

/* largest measured / bound over every run and t */
static double nearest_to_bound(const study *st, int gap) {
    double most = 0;
    for (size_t i = 0; i < st->cells; i++)
        for (size_t k = 0; k < st->cell[i].seeds * st->cell[i].points; k++) {
            const cell *c = &st->cell[i];
            const double t = (double)((size_t)1 << k % c->points);
            if (!c->free)
                most = fmax(most, gap ? c->gap[k] / gap_bound(st, c, t)
                                      : c->error[k] / error_bound(st, c, t));
        }
    return most;
}

/* ---- tables */
/* something against x: mean and 95 % confidence; slope over the points from `fit` on, and all */
typedef struct series {
    size_t n, fit;
    double x[MAX_POINTS], y[MAX_POINTS], lo[MAX_POINTS], hi[MAX_POINTS];
    paper_slope slope, all;
    double expected; /* against N: the slope of the sample complexity */
} series;

/* value: k rows of s->n */
static void finish(series *s, const double *value, size_t k) {
    plot_confidence(value, k, s->n, s->y, s->lo, s->hi);
    for (size_t i = 0; i < s->n; i++) { /* the interval of the logarithm: it stays above 0 */
        const double half = (s->hi[i] - s->y[i]) / s->y[i];
        s->lo[i] = s->y[i] * exp(-half);
        s->hi[i] = s->y[i] * exp(half);
    }
    s->slope = s->all = paper_fit(s->x, value, k, s->n, s->n);
    if (s->fit + 1 < s->n)
        s->slope = paper_fit(s->x + s->fit, value + s->fit, k, s->n - s->fit, s->n);
}

/* value - less against t; t >= from counts for the slope */
static series over_t(const cell *c, const double *value, double less, size_t from) {
    static double copy[MAX_SEEDS * MAX_POINTS];
    series s;
    memset(&s, 0, sizeof s);
    s.n = c->points;
    for (size_t i = 0; i < s.n; i++) {
        s.x[i] = (double)((size_t)1 << i);
        s.fit += s.x[i] < (double)from;
    }
    for (size_t i = 0; i < c->seeds * s.n; i++) copy[i] = value[i] - less;
    finish(&s, copy, c->seeds);
    return s;
}

/* the error at the last t of cells of several sizes; those of N >= fit count for the slope */
static series over_n(cell *const *c, size_t from, size_t to, size_t fit) {
    static double copy[MAX_SEEDS * MAX_POINTS];
    double shape[MAX_POINTS];
    series s;
    memset(&s, 0, sizeof s);
    s.n = to - from;
    for (size_t i = 0; i < s.n; i++) {
        const cell *at = c[from + i];
        s.x[i] = (double)at->n;
        s.fit += at->n < fit;
        for (size_t r = 0; r < c[from]->seeds; r++)
            copy[r * s.n + i] = at->error[r * at->points + at->points - 1];
        /* the error of the sample complexity: sqrt(1/N + lambda^2 log N) */
        shape[i] = sqrt(agg_sample_complexity(at->rule, 0.1, at->n, at->f, DIM));
    }
    finish(&s, copy, c[from]->seeds);
    s.expected = paper_line(s.x + s.fit, shape + s.fit, s.n - s.fit).value;
    return s;
}

typedef struct results {
    series error[RULES], gap[RULES], honest, honest_gap, free_gap, free_error; /* against t */
    series first[RULES], later[RULES], by_delta[3];                            /* against N */
} results;

static void collect(const study *st, results *r) {
    const size_t from = st->rounds / 16;
    for (int k = 0; k < RULES; k++) {
        r->error[k] = over_t(st->rule[k], st->rule[k]->error, 0, from);
        r->gap[k] = over_t(st->rule[k], st->rule[k]->gap, st->k.best - st->k.ball, from);
        r->first[k] = over_n(st->first[k], 0, SIZES, 144);
        r->later[k] = over_n(st->later[k], 0, st->late_sizes, 0);
    }
    for (int k = 0; k < 3; k++) r->by_delta[k] = over_n(st->by_delta[k], 1, st->late_sizes, 0);
    r->honest = over_t(st->honest, st->honest->error, 0, from);
    r->honest_gap = over_t(st->honest, st->honest->gap, st->k.best - st->k.ball, from);
    r->free_gap = over_t(st->free, st->free->gap, 0, from);
    r->free_error = over_t(st->free, st->free->error, 0, from);
}

/* Does the slope stay below p (an upper bound of power p promises that), or above -0.1 (flat:
   lambda does not shrink)? Yes if the whole confidence interval does, no if none of it does;
   between, a narrow interval may miss p by 0.05. */
static int verdict(paper_slope s, double p, int flat) {
    const int narrow = s.hi - s.lo < 0.4;
    if (flat) return s.lo > -0.1 || (narrow && s.value > -0.1) ? 1 : s.hi > -0.1 ? -1 : 0;
    return s.hi <= p || (narrow && s.value <= p + 0.05) ? 1 : s.lo <= p ? -1 : 0;
}

static void claim_slope(paper_claims *c, const char *who, const char *what, const series *s,
                        double power, int flat) {
    char claim[160], all[64] = "";
    if (flat)
        snprintf(claim, sizeof claim, "%s: %s does not fall", who, what);
    else
        snprintf(claim, sizeof claim, "%s: %s falls at least like the power %.2f", who, what,
                 power);
    if (s->fit)
        snprintf(all, sizeof all, "; over all %.2f (%.2f .. %.2f)", s->all.value, s->all.lo,
                 s->all.hi);
    paper_claim(c, verdict(s->slope, power, flat), claim, "slope %.2f (%.2f .. %.2f)%s",
                s->slope.value, s->slope.lo, s->slope.hi, all);
}

static void claim_over_n(paper_claims *c, agg_rule rule, size_t t, const char *f, const series *s,
                         double power) {
    const int flat = !agg_rule_is_order_optimal(rule);
    char what[80];
    snprintf(what, sizeof what, "error at t = %d against N, f = %s,", (int)t, f);
    claim_slope(c, agg_rule_name(rule), what, s, power, flat);
    snprintf(what, sizeof what, "the same, with the logarithm,");
    if (!flat) claim_slope(c, agg_rule_name(rule), what, s, s->expected, 0);
}

/* 1 if the bounds hold */
static int print_claims(paper_claims *c, const study *st, const results *r) {
    char f[16];
    const double gap = nearest_to_bound(st, 1), error = nearest_to_bound(st, 0);
    paper_claim(c, gap <= 1, "J* - J(theta_T) is below the finite-T bound, every run, every T",
                "at most %.1e of the bound", gap);
    paper_claim(c, error <= 1, "||d_t - grad J_H|| is below the lemma's bound, every run, every t",
                "at most %.1e of the bound", error);
    for (int k = 0; k < RULES; k++)
        claim_slope(c, agg_rule_name(rules[k]), "error against t", &r->error[k], -0.5, 0);
    claim_slope(c, "no adversaries, mean", "error against t", &r->honest, -0.5, 0);
    for (int k = 0; k < RULES; k++) claim_over_n(c, rules[k], 1, "sqrt(N)", &r->first[k], -0.5);
    for (int k = 0; k < RULES; k++)
        claim_over_n(c, rules[k], st->late, "sqrt(N)", &r->later[k], -0.5);
    for (int k = 0; k < 3; k++) {
        snprintf(f, sizeof f, "N^%.2f", delta[k]);
        claim_over_n(c, AGG_CWTM, st->late, f, &r->by_delta[k], fmax(-0.5, delta[k] - 1));
    }
    for (int k = 0; k < RULES; k++)
        claim_slope(c, agg_rule_name(rules[k]), "gap to the best of the ball against T", &r->gap[k],
                    -0.5, 0);
    claim_slope(c, "MDA, no ball, steps 2/(t+2)", "J* - J(theta_T)", &r->free_gap, -0.5, 0);
    return gap <= 1 && error <= 1;
}

static void print_setting(paper_claims *c, const study *st) {
    const known *k = &st->k;
    paper_note(c,
               "MDP: %d states, %d actions, discount %g, rewards in [0,1]. J* = %.4f, J = %.4f at "
               "the start, best of the ball of radius %g: %.4f. In the ball G1 = %.3f, G2 = %g, "
               "muF = %.4f: the least eigenvalue of the Fisher matrix where the logits of a state "
               "sum to 0; on the whole table it is 0. So gamma_t = %.1f/(t+2), eta_t = 1/t; "
               "horizon %d, that of T = %d, throughout. Theta is kept in the ball by projection, "
               "which the paper's algorithm does not have; without it no muF > 0 exists.",
               S, A, discount, k->best, k->start, radius, k->ball, k->G1, G2, k->muF,
               6 * k->G1 / k->muF, (int)st->horizon, (int)st->rounds);
    paper_note(c,
               "Adversaries: ALIE, honest mean - %g honest deviations. Long runs: 16 agents, 4 of "
               "them are Byzantine, %d seeds; against N: %d seeds at t = 1, %d at t = %d. Slopes: "
               "least squares of the logarithms of means, 95 %% confidence by the jackknife; "
               "against t over the last factor of 16, at t = 1 over N >= 144 (below, noise hides "
               "what does not average away; the slope over all N stands beside). Against N two "
               "powers are asked for: the plain one, and that of sqrt(1/N + lambda^2 log N), the "
               "paper's sample complexity with its logarithm, over the same N and f.",
               attack_strength, (int)st->seeds, (int)st->first_seeds, (int)st->seeds,
               (int)st->late);
}

/* how to read the table; what a run showed stands in README.md beside this file */
static void print_reading(paper_claims *c) {
    paper_note(c, "How to read this. The bounds are worst cases: they hold by large factors and "
                  "say nothing about sizes. A lambda that shrinks promises a speed-up; one that "
                  "does not shrink promises nothing, and the error may fall all the same. J* is "
                  "out of reach of the ball, so the slope against T is that of the gap to the best "
                  "policy in it; the bound is checked for J* itself. The run without ball goes on "
                  "towards J*, but no theorem covers it.");
}

static int write_csv(const char *path, const study *st) {
    FILE *out = fopen(path, "w");
    if (!out) return -1;
    fprintf(out, "rule,N,f,rounds,ball,t,error,error_low,error_high,gap,gap_low,gap_high,"
                 "error_bound,gap_bound\n");
    for (size_t i = 0; i < st->cells; i++) {
        const cell *c = &st->cell[i];
        const series e = over_t(c, c->error, 0, 1), g = over_t(c, c->gap, 0, 1);
        for (size_t k = 0; k < c->points; k++) {
            const double t = e.x[k], bound[2] = {error_bound(st, c, t), gap_bound(st, c, t)};
            const double v[8] = {e.y[k],  e.lo[k], e.hi[k],  g.y[k],
                                 g.lo[k], g.hi[k], bound[0], bound[1]};
            char key[80];
            snprintf(key, sizeof key, "%s,%d,%d,%d,%d,%g", agg_rule_name(c->rule), (int)c->n,
                     (int)c->f, (int)c->rounds, !c->free, t);
            paper_row(out, key, v, c->free ? 6 : 8);
        }
    }
    const int bad = ferror(out);
    return fclose(out) != 0 || bad ? -1 : 0;
}

/* ---- the figure */
static plot_curve curve_of(const char *label, const series *s, int colour) {
    const plot_curve c = {label, s->n, s->x, s->y, s->lo, s->hi, colour, 0};
    return c;
}

static void panel(plot *p, size_t at, const char *title, const char *x, const char *y,
                  plot_scale sx, plot_scale sy, const plot_curve *curve, size_t curves) {
    const plot_chart chart = {title, x, y, sx, sy, curve, curves};
    plot_curves(p, plot_cell(plot_make_box(14, 96, 1072, 600), 2, 3, at / 3, at % 3), &chart);
}

static plot_scale scale(double lo, double hi) {
    const plot_scale s = {lo, hi, 1};
    return s;
}

/* a straight line of slope -1/2 from (x0, y0) to x1 */
typedef struct guide {
    double x[2], y[2];
} guide;

static plot_curve guide_of(guide *g, double x0, double y0, double x1) {
    const plot_curve c = {"slope -1/2", 2, g->x, g->y, NULL, NULL, 7, 1};
    g->x[0] = x0;
    g->x[1] = x1;
    g->y[0] = y0;
    g->y[1] = y0 * sqrt(x0 / x1);
    return c;
}

/* a, c: against t */
static void draw_over_t(plot *p, const study *st, const results *r) {
    const plot_scale t = scale(1, (double)st->rounds);
    plot_curve c[RULES + 2];
    guide g;
    for (int k = 0; k < RULES; k++) c[k] = curve_of(agg_rule_name(rules[k]), &r->error[k], k);
    c[RULES] = curve_of("no adversaries (mean)", &r->honest, 6);
    c[RULES + 1] = guide_of(&g, 1, 1, t.hi);
    plot_legend(p, 66, 80, c, RULES + 2);
    panel(p, 0, "a  ||d_t - grad J_H(theta_t)||", "t", "error", t, scale(1e-3, 2), c, RULES + 2);
    for (int k = 0; k < RULES; k++) c[k] = curve_of("", &r->gap[k], k);
    c[RULES] = curve_of("", &r->honest_gap, 6);
    panel(p, 3, "c  best J of the ball - J(theta_T)", "T", "gap", t, scale(1e-5, 1), c, RULES + 2);
}

/* b: against N */
static void draw_over_n(plot *p, const study *st, const results *r) {
    const double all = (double)sizes[SIZES - 1], some = (double)sizes[st->late_sizes - 1];
    plot_curve c[RULES + 1];
    char title[64];
    guide g;
    for (int k = 0; k < RULES; k++) c[k] = curve_of("", &r->first[k], k);
    c[RULES] = guide_of(&g, 16, 0.5, all);
    panel(p, 1, "b  ||d - grad J_H|| at t = 1, f = sqrt(N)", "N", NULL, scale(16, all),
          scale(0.02, 1), c, RULES + 1);
    for (int k = 0; k < RULES; k++) c[k] = curve_of("", &r->later[k], k);
    snprintf(title, sizeof title, "b  ||d - grad J_H|| at t = %d, f = sqrt(N)", (int)st->late);
    panel(p, 2, title, "N", NULL, scale(16, some), scale(2e-3, 1), c, RULES + 1);
}

/* c: MDA below the theorem */
static void draw_bounds(plot *p, const study *st, const results *r) {
    const cell *mda = st->rule[0];
    const series gap = over_t(mda, mda->gap, 0, 1);
    double error[MAX_POINTS], value[MAX_POINTS];
    for (size_t i = 0; i < mda->points; i++) {
        error[i] = error_bound(st, mda, gap.x[i]);
        value[i] = gap_bound(st, mda, gap.x[i]);
    }
    const plot_curve five[5] = {{"bound of J* - J", gap.n, gap.x, value, NULL, NULL, 1, 1},
                                {"bound of the error", gap.n, gap.x, error, NULL, NULL, 0, 1},
                                curve_of("J* - J", &gap, 1),
                                curve_of("error", &r->error[0], 0),
                                curve_of("J* - J without ball", &r->free_gap, 2)};
    panel(p, 4, "c  bounds (dashed) above MDA's runs", "T", NULL, scale(1, (double)st->rounds),
          scale(1e-3, 1e9), five, 5);
    for (int k = 0; k < 5; k++)
        plot_legend(p, 436 + 150 * (k / 3), 560 + 16 * (k % 3), &five[k], 1);
}

/* d */
static void draw_by_delta(plot *p, const study *st, const results *r) {
    const double all = (double)sizes[SIZES - 1], some = (double)sizes[st->late_sizes - 1];
    char name[3][48];
    plot_curve c[4];
    guide g;
    for (int k = 0; k < 3; k++) {
        snprintf(name[k], sizeof name[k], "f = N^%.2f, slope %.2f", delta[k],
                 r->by_delta[k].slope.value);
        c[k] = curve_of(name[k], &r->by_delta[k], k);
    }
    c[3] = guide_of(&g, 16, 0.5, all);
    panel(p, 5, "d  CWTM, f = N^delta", "N", NULL, scale(16, some), scale(2e-3, 1), c, 4);
    for (int k = 0; k < 3; k++) plot_legend(p, 910, 436 + 16 * k, &c[2 - k], 1);
}

static int draw(const char *path, const study *st, const results *r) {
    plot p;
    if (plot_open(&p, path, 1100, 700, "The theorem, measured where all is known") != 0) return -1;
    plot_text(&p, 20, 54, PLOT_LEFT, "note",
              "a, c: 16 agents, 4 of them are Byzantine; b: sqrt(N) of N are; ALIE, strength 1.5. "
              "Means and 95 % confidence");
    draw_over_t(&p, st, r);
    draw_over_n(&p, st, r);
    draw_bounds(&p, st, r);
    draw_by_delta(&p, st, r);
    return plot_close(&p);
}

int main(int argc, char **argv) {
    static study st;
    static results r;
    paper_claims c;
    char path[64];
    const int quick =
        paper_quick(argc, argv,
                    "usage: speedup [--quick]\n"
                    "Measures the paper's theorem on a small MDP: writes build/speedup.svg, .csv "
                    "and .md. --quick: build/speedup_quick.*\n");
    const double from = paper_wall();
    make_mdp();
    st.k = know();
    st.policy = rn_make_table_policy(&st.table, S, A);
    st.rounds = quick ? 1024 : 4096;
    st.seeds = quick ? 4 : 12;
    st.late = quick ? 64 : 256;
    st.late_sizes = quick ? 4 : 5;
    st.first_seeds = quick ? 12 : MAX_SEEDS;
    st.horizon = rn_theory_horizon((double)st.rounds, discount);
    plan(&st);
    const int resumed = run_all(&st);
    collect(&st, &r);
    if (paper_claims_open(&c, paper_path(path, "speedup", quick, "md"),
                          "The theorem: speed-up and convergence") != 0)
        return fprintf(stderr, "cannot write build/speedup.md\n"), 1;
    print_setting(&c, &st);
    const int sound = print_claims(&c, &st, &r);
    print_reading(&c);
    paper_note(&c, "%s, %.0f s%s.", quick ? "Quick version" : "Full version", paper_wall() - from,
               resumed ? " since it was resumed" : "");
    if (paper_claims_close(&c) != 0 ||
        write_csv(paper_path(path, "speedup", quick, "csv"), &st) != 0 ||
        draw(paper_path(path, "speedup", quick, "svg"), &st, &r) != 0)
        return fprintf(stderr, "cannot write\n"), 1;
    return sound ? 0 : 1;
}
