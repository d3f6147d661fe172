/* The estimators of resnharpg.h are exact: on tiny environments ALL trajectories are played
   through an rn_agent and weighted with their probabilities. E g = grad J_H, E[B u] = hess J_H
   u, E v = grad J_H(theta_t) - grad J_H(theta_{t-1}), the last integrated over q. The right-hand
   sides come from dynamic programming on numbers that carry derivatives. */
#include "implementation.h"
#include "resnharpg.h"
#include "greatest.h"
#include "common.h"
#include "tiny.h"

#ifdef AGG_DOUBLE
#define TOL 1e-14
#else
#define TOL 4e-6
#endif
enum { HORIZON = 4, MAX_DIM = 64, MOST = 4096 };

/* ---- Gauss quadrature from the recurrence of orthonormal polynomials, x p_k = b_{k+1} p_{k+1}
   + b_k p_{k-1}: nodes are the zeros of p_n, weights 1/sum_{k<n} p_k^2 */
typedef wide recurrence(size_t k);

/* standard normal density */
static wide hermite(size_t k) { return sqrtl((wide)k); }

/* density 1/2 on -1 .. 1 */
static wide legendre(size_t k) { return (wide)k / sqrtl((wide)(4 * k * k - 1)); }

static wide polynomial(recurrence *b, size_t n, wide x, wide *squares) {
    wide before = 0, now = 1, sum = 0;
    for (size_t k = 0; k < n; k++) {
        const wide next = (x * now - (k ? b(k) * before : 0)) / b(k + 1);
        sum += now * now;
        before = now;
        now = next;
    }
    if (squares) *squares = sum;
    return now;
}

static size_t gauss_rule(recurrence *b, size_t n, wide range, wide *x, wide *w) {
    const int cells = 4000;
    size_t found = 0;
    for (int i = 0; i < cells && found < n; i++) {
        wide low = range * (2.0L * (wide)i / (wide)cells - 1 + 1e-7L),
             high = low + 2 * range / (wide)cells;
        if (polynomial(b, n, low, NULL) * polynomial(b, n, high, NULL) > 0) continue;
        for (int k = 0; k < 80; k++) {
            const wide middle = (low + high) / 2;
            if (polynomial(b, n, low, NULL) * polynomial(b, n, middle, NULL) <= 0)
                high = middle;
            else
                low = middle;
        }
        x[found] = (low + high) / 2;
        (void)polynomial(b, n, x[found], &w[found]);
        w[found] = 1 / w[found];
        found++;
    }
    return found;
}

/* ---- an agent that plays what it is told */
typedef struct trajectory {
    size_t T;
    size_t state[HORIZON + 1];
    rn_real act[HORIZON];
    double reward[HORIZON];
    wide chance; /* the environment's part of the probability */
} trajectory;

typedef struct script {
    rn_policy inner;
    const mdp *m;
    const model *p;
    const trajectory *play[2]; /* the first and the second trajectory of the round */
    const trajectory *now;
    size_t plays, t;
    rn_real theta[MAX_DIM]; /* what the last trajectory was played with */
    uint64_t q;
} script;

static void script_reset(void *self, const agg_rng *r, rn_real *obs) {
    script *s = (script *)self;
    (void)r;
    s->now = s->play[s->plays++ % 2];
    s->t = 0;
    mdp_observe(s->m, s->p->table, s->now->state[0], obs);
}

static rn_step_result script_step(void *self, const rn_real *act, const agg_rng *r, rn_real *obs,
                                  double *reward) {
    script *s = (script *)self;
    (void)r;
    (void)act;
    *reward = s->now->reward[s->t++];
    mdp_observe(s->m, s->p->table, s->now->state[s->t], obs);
    return s->t == s->now->T ? RN_TERMINATED : RN_RUNNING;
}

static void script_act(void *self, const rn_real *theta, const rn_real *obs, const agg_rng *r,
                       rn_real *act, void *work) {
    script *s = (script *)self;
    (void)obs;
    (void)r;
    (void)work;
    memcpy(s->theta, theta, s->p->policy.dim * sizeof *theta);
    act[0] = s->now->act[s->t];
}

/* nobody but theta^ draws a number */
static uint64_t script_next(void *self) { return ((script *)self)->q; }

static void script_q(script *s, wide q) { s->q = (uint64_t)(q * 9007199254740992.0L) << 11; }

static rn_agent_desc script_desc(script *s, const rn_method *method) {
    rn_agent_desc d;
    memset(&d, 0, sizeof d);
    d.env.self = s;
    d.env.reset = script_reset;
    d.env.step = script_step;
    s->inner = s->p->policy;
    d.policy = policy_around(s);
    d.policy.act = script_act;
    d.policy.prepare = NULL;
    d.env.obs_dim = d.policy.obs_dim;
    d.env.act_dim = d.policy.act_dim;
    d.env.actions = d.policy.actions;
    d.method = *method;
    d.rng.next = script_next;
    d.rng.self = s;
    return d;
}

/* all trajectories of the process, with the environment's part of their probabilities */
static size_t enumerate(const mdp *m, trajectory *all, size_t count, const trajectory *so_far) {
    for (size_t a = 0; a < ACTIONS; a++)
        for (size_t n = 0; n < STATES; n++) {
            trajectory e = *so_far;
            const size_t s = e.state[e.T];
            e.act[e.T] = (rn_real)a;
            e.reward[e.T] = m->reward[s][a][n];
            e.chance *= (wide)m->move[s][a][n];
            e.state[++e.T] = n;
            if (e.T < HORIZON && !m->end[n]) {
                count = enumerate(m, all, count, &e);
                continue;
            }
            if (count >= MOST) abort();
            all[count++] = e;
        }
    return count;
}

static size_t enumerate_all(const mdp *m, trajectory *all) {
    size_t count = 0;
    for (size_t s = 0; s < STATES; s++) {
        trajectory e;
        memset(&e, 0, sizeof e);
        e.state[0] = s;
        e.chance = (wide)m->start[s];
        if (m->start[s] > 0) count = enumerate(m, all, count, &e);
    }
    return count;
}

typedef struct chances {
    rn_real theta[MAX_DIM];
    wide pi[STATES][ACTIONS];
    int known;
} chances;

/* of a trajectory, with the actions' chances at the theta it was played with */
static wide probability(const script *s, const trajectory *e, chances *c) {
    wide p = e->chance;
    if (!c->known || !same_bits(c->theta, s->theta, s->p->policy.dim)) {
        for (size_t k = 0; k < STATES; k++) {
            rn_real obs[FEATURES];
            mdp_observe(s->m, s->p->table, k, obs);
            for (size_t a = 0; a < ACTIONS; a++)
                c->pi[k][a] = model_probability(s->p, s->theta, obs, (wide)a);
        }
        memcpy(c->theta, s->theta, s->p->policy.dim * sizeof *c->theta);
        c->known = 1;
    }
    for (size_t t = 0; t < e->T; t++) p *= c->pi[e->state[t]][(size_t)e->act[t]];
    return p;
}

/* ---- what flat weights estimate: G = sum_t E[(sum_{h>=t} discount^(h-t) r_h) grad log pi_t]. In
   sum_t P_t(s) pi(a|s) Q_t(s,a) derivatives along e1 are taken of pi alone, along e2 of all: so its
   a is G_i and its ab (DG u)_i. */
static hyper fixed(hyper x) {
    x.a = x.ab = 0;
    return x;
}

typedef struct flat_parts {
    hyper pi[STATES][ACTIONS];
    hyper Q[HORIZON][STATES][ACTIONS], P[HORIZON + 1][STATES];
} flat_parts;

static void flat_policy(flat_parts *f, const mdp *m, const model *p, const hyper *theta) {
    for (size_t s = 0; s < STATES; s++) {
        rn_real obs[FEATURES];
        hyper x[FEATURES];
        mdp_observe(m, p->table, s, obs);
        hy_obs(obs, p->policy.obs_dim, x);
        for (size_t a = 0; a < ACTIONS; a++) {
            const rn_real act = (rn_real)a;
            f->pi[s][a] = hy_exp(model_log_pi(p, theta, x, &act));
        }
    }
}

/* Q_t(s,a) from behind; V_{t+1}(n) = 0 where the trajectory has ended */
static void flat_values(flat_parts *f, const mdp *m, double discount) {
    hyper V[STATES] = {{0, 0, 0, 0}};
    for (size_t t = HORIZON; t-- > 0;) {
        hyper now[STATES];
        for (size_t s = 0; s < STATES; s++) {
            now[s] = hy(0);
            for (size_t a = 0; a < ACTIONS; a++) {
                hyper q = hy(0);
                for (size_t n = 0; n < STATES; n++) {
                    const hyper rest = m->end[n] ? hy(0) : hy_times((wide)discount, V[n]);
                    q = hy_add(q, hy_times((wide)m->move[s][a][n],
                                           hy_add(hy((wide)m->reward[s][a][n]), rest)));
                }
                f->Q[t][s][a] = q;
                now[s] = hy_add(now[s], hy_mul(fixed(f->pi[s][a]), q));
            }
        }
        memcpy(V, now, sizeof V);
    }
}

/* P_t(s): still running, and in s */
static void flat_chances(flat_parts *f, const mdp *m) {
    for (size_t s = 0; s < STATES; s++) f->P[0][s] = hy((wide)m->start[s]);
    for (size_t t = 0; t < HORIZON; t++)
        for (size_t n = 0; n < STATES; n++) {
            f->P[t + 1][n] = hy(0);
            for (size_t s = 0; s < STATES && !m->end[n]; s++)
                for (size_t a = 0; a < ACTIONS; a++)
                    f->P[t + 1][n] =
                        hy_add(f->P[t + 1][n], hy_times((wide)m->move[s][a][n],
                                                        hy_mul(f->P[t][s], fixed(f->pi[s][a]))));
        }
}

/* G (may be NULL) and DG u (may be NULL) */
static void flat_derivatives(const mdp *m, const model *p, const wide *theta, const wide *u,
                             double discount, wide *G, wide *DGu) {
    static flat_parts f;
    hyper th[MAX_DIM];
    for (size_t i = 0; i < p->policy.dim; i++) {
        th[i] = hy(theta[i]);
        th[i].b = u ? u[i] : 0;
    }
    for (size_t i = 0; i < p->policy.dim; i++) {
        hyper sum = hy(0);
        th[i].a = 1;
        flat_policy(&f, m, p, th);
        th[i].a = 0;
        flat_values(&f, m, discount);
        flat_chances(&f, m);
        for (size_t t = 0; t < HORIZON; t++)
            for (size_t s = 0; s < STATES; s++)
                for (size_t a = 0; a < ACTIONS; a++)
                    sum = hy_add(sum, hy_mul(f.P[t][s], hy_mul(f.pi[s][a], f.Q[t][s][a])));
        if (G) G[i] = sum.a;
        if (DGu) DGu[i] = sum.ab;
    }
}

/* what the method estimates: grad J_H and hess J_H u, or G and DG u */
static void aim(const mdp *m, const model *p, const rn_method *method, const wide *theta,
                const wide *u, wide *grad, wide *hess) {
    if (method->flat)
        flat_derivatives(m, p, theta, u, method->discount, grad, hess);
    else
        mdp_derivatives(m, p, theta, u, method->horizon, method->discount, grad, hess);
}

typedef struct lab { /* one policy, one process, one method */
    script s;
    rn_agent *agent;
    void *block;
    unsigned char *saved;
    size_t saved_size, count;
    int reuse;
    trajectory idle;
    trajectory all[MOST];
    rn_real before[MAX_DIM], theta[MAX_DIM];
} lab;

static void lab_open(lab *l, const mdp *m, const model *p, const rn_method *method,
                     size_t practice) {
    rng r = rng_make(77);
    rn_agent_desc d;
    l->s.m = m;
    l->s.p = p;
    l->s.plays = 0;
    l->reuse = method->reuse;
    l->count = enumerate_all(m, l->all);
    memset(&l->idle, 0, sizeof l->idle);
    l->idle.T = 1;
    d = script_desc(&l->s, method);
    l->block = need(malloc(rn_agent_size(&d)));
    if (rn_agent_init(&l->agent, &d, l->block, rn_agent_size(&d)) != RN_OK) abort();
    for (size_t i = 0; i < p->policy.dim; i++) {
        l->before[i] = (rn_real)(0.7 * rng_normal(&r));
        l->theta[i] = (rn_real)((double)l->before[i] + 0.2 * rng_normal(&r));
    }
    /* a past: rounds at theta_{t-1}, from which a baseline learns; without any, one round that
       leaves d = 0 */
    for (size_t i = 0; i < (practice ? practice : 1); i++) {
        l->s.plays = 0;
        l->s.play[0] = practice ? &l->all[(i * 97) % l->count] : &l->idle;
        if (rn_agent_run_round(l->agent, l->before, 1) != RN_OK) abort();
    }
    l->saved_size = rn_agent_save_size(l->agent);
    l->saved = (unsigned char *)need(malloc(l->saved_size));
    if (rn_agent_save(l->agent, l->saved, l->saved_size) != RN_OK) abort();
}

static void lab_close(lab *l) {
    free(l->block);
    free(l->saved);
}

/* g of one trajectory; the state of the agent is put back before */
static const rn_real *lab_g(lab *l, const trajectory *e) {
    l->s.plays = 0;
    l->s.play[0] = e;
    if (rn_agent_load(l->agent, l->saved, l->saved_size) != RN_OK) abort();
    if (rn_agent_run_round(l->agent, l->theta, 1) != RN_OK) abort();
    return rn_agent_direction(l->agent);
}

/* v of one second trajectory, or of the only one: eta = 0, so d_t = d_{t-1} + v; kept is d_{t-1} */
static const rn_real *lab_v(lab *l, const trajectory *e, rn_real *kept) {
    l->s.plays = 0;
    l->s.play[0] = l->reuse ? e : &l->idle;
    l->s.play[1] = e;
    if (rn_agent_load(l->agent, l->saved, l->saved_size) != RN_OK) abort();
    memcpy(kept, rn_agent_direction(l->agent), l->s.p->policy.dim * sizeof *kept);
    if (rn_agent_run_round(l->agent, l->theta, 0) != RN_OK) abort();
    return rn_agent_direction(l->agent);
}

/* gives the sum of all probabilities */
static wide lab_expect_g(lab *l, wide *mean) {
    const size_t dim = l->s.p->policy.dim;
    wide total = 0;
    chances c;
    c.known = 0;
    for (size_t i = 0; i < dim; i++) mean[i] = 0;
    for (size_t k = 0; k < l->count; k++) {
        const rn_real *g = lab_g(l, &l->all[k]);
        const wide p = probability(&l->s, &l->all[k], &c);
        for (size_t i = 0; i < dim; i++) mean[i] += p * (wide)g[i];
        total += p;
    }
    return total;
}

static void lab_expect_v(lab *l, wide q, wide *mean) {
    const size_t dim = l->s.p->policy.dim;
    rn_real kept[MAX_DIM];
    chances c;
    c.known = 0;
    script_q(&l->s, q);
    for (size_t i = 0; i < dim; i++) mean[i] = 0;
    for (size_t k = 0; k < l->count; k++) {
        const rn_real *d = lab_v(l, &l->all[k], kept);
        const wide p = probability(&l->s, &l->all[k], &c);
        for (size_t i = 0; i < dim; i++) mean[i] += p * ((wide)d[i] - (wide)kept[i]);
    }
}

static double gap(const wide *x, const wide *y, size_t n) {
    double most = 0;
    for (size_t i = 0; i < n; i++)
        if (!((double)wide_abs(x[i] - y[i]) <= most)) most = (double)wide_abs(x[i] - y[i]);
    return most;
}

static void widen(const rn_real *x, size_t n, wide *y) {
    for (size_t i = 0; i < n; i++) y[i] = (wide)x[i];
}

typedef struct found {
    double g, bu, v, total;
} found; /* largest errors */

static found lab_measure(lab *l, const rn_method *m, size_t nodes) {
    const model *p = l->s.p;
    const size_t dim = p->policy.dim;
    wide theta[MAX_DIM], before[MAX_DIM], u[MAX_DIM], mean[MAX_DIM], want[MAX_DIM], old[MAX_DIM],
        sum[MAX_DIM];
    wide x[16], w[16];
    found f;
    widen(l->theta, dim, theta);
    widen(l->before, dim, before);
    for (size_t i = 0; i < dim; i++) {
        u[i] = (wide)(rn_real)(l->theta[i] - l->before[i]);
        sum[i] = 0;
    }
    f.total = fabs((double)(lab_expect_g(l, mean) - 1));
    aim(l->s.m, p, m, theta, NULL, want, NULL);
    f.g = gap(mean, want, dim);
    f.bu = 0;
    if (gauss_rule(legendre, nodes, 1, x, w) != nodes) abort();
    for (size_t k = 0; k < nodes; k++) {
        wide hat[MAX_DIM], hess[MAX_DIM];
        double e;
        lab_expect_v(l, (1 + x[k]) / 2, mean);
        widen(l->s.theta, dim, hat);
        aim(l->s.m, p, m, hat, u, NULL, hess);
        e = gap(mean, hess, dim);
        if (!(e <= f.bu)) f.bu = e;
        for (size_t i = 0; i < dim; i++) sum[i] += w[k] * mean[i];
    }
    aim(l->s.m, p, m, before, NULL, old, NULL);
    for (size_t i = 0; i < dim; i++) want[i] -= old[i];
    f.v = gap(sum, want, dim);
    return f;
}

/* ---- the policies that fit */
enum { TABLE, LINEAR, MLP_TANH, MLP_RELU, MLP_IDENTITY, MLP_HEAD, POLICIES };

static const char *const policy_names[POLICIES] = {"table", "linear",   "tanh",
                                                   "relu",  "identity", "tanh head"};

static void make_policy(model *p, int kind) {
    rn_net_desc d = net_desc(FEATURES, ACTIONS, kind == LINEAR ? 0 : 3, 0, RN_TANH);
    if (kind == MLP_RELU) d.activation = RN_RELU;
    if (kind == MLP_IDENTITY) d.activation = RN_IDENTITY;
    if (kind == MLP_HEAD) {
        d.tanh_head = d.no_bias = 1;
        d.hidden[1] = 2;
    }
    model_for_walk(p, kind == TABLE, &d);
}

static rn_method plain_method(void) {
    rn_method m;
    memset(&m, 0, sizeof m);
    m.horizon = HORIZON;
    m.discount = 0.9;
    return m;
}

static lab the_lab;

/* the reference itself: hyper-dual derivatives of J_H against Richardson differences of its
   values */
TEST derivatives_by_two_routes(void) {
    for (int kind = 0; kind < POLICIES; kind++) {
        const mdp m = mdp_random(5);
        model p;
        rng r = rng_make(3);
        hyper th[MAX_DIM];
        wide theta[MAX_DIM], grad[MAX_DIM];
        make_policy(&p, kind);
        for (size_t i = 0; i < p.policy.dim; i++) theta[i] = (wide)rng_normal(&r);
        mdp_derivatives(&m, &p, theta, NULL, HORIZON, 0.9, grad, NULL);
        for (size_t i = 0; i < p.policy.dim; i++) {
            wide d[3];
            /* central differences with h, h/2, h/4, then extrapolated to h^6 */
            for (int k = 0; k < 3; k++) {
                const wide h = 1e-3L / (wide)(1 << k);
                wide J[2];
                for (int side = 0; side < 2; side++) {
                    for (size_t j = 0; j < p.policy.dim; j++) th[j] = hy(theta[j]);
                    th[i].v += side ? h : -h;
                    J[side] = mdp_value(&m, &p, th, HORIZON, 0.9).v;
                }
                d[k] = (J[1] - J[0]) / (2 * h);
            }
            d[0] = (4 * d[1] - d[0]) / 3;
            d[1] = (4 * d[2] - d[1]) / 3;
            d[0] = (16 * d[1] - d[0]) / 15;
            if (wide_abs(d[0] - grad[i]) > 1e-14L)
                FAILm(WHY("%s: d J/d theta[%u]", policy_names[kind], (unsigned)i));
        }
    }
    PASS();
}

TEST quadrature_integrates_polynomials(void) {
    static const wide moments[5] = {1, 1, 3, 15, 105}; /* of the normal: x^0, x^2, x^4, x^6, x^8 */
    wide x[16], w[16];
    ASSERT_EQ((size_t)8, gauss_rule(hermite, 8, 8, x, w));
    for (int k = 0; k < 5; k++) {
        wide sum = 0;
        for (int i = 0; i < 8; i++) sum += w[i] * powl(x[i], 2 * k);
        ASSERT(wide_abs(sum - moments[k]) < 1e-13L);
    }
    ASSERT_EQ((size_t)8, gauss_rule(legendre, 8, 1, x, w));
    for (int k = 0; k < 8; k++) {
        wide sum = 0;
        for (int i = 0; i < 8; i++) sum += w[i] * powl(x[i], 2 * k);
        ASSERT(wide_abs(sum - 1.0L / (2 * k + 1)) < 1e-16L);
    }
    PASS();
}

TEST expectations_are_exact(int kind, rn_estimator estimator, int causal) {
    const mdp m = mdp_random((uint64_t)(10 + kind));
    rn_method method = plain_method();
    model p;
    found f;
    method.estimator = estimator;
    method.causal = causal;
    make_policy(&p, kind);
    lab_open(&the_lab, &m, &p, &method, 0);
    f = lab_measure(&the_lab, &method, 10);
    lab_close(&the_lab);
    if (GREATEST_IS_VERBOSE())
        printf("    %-9s total %.1e  g %.1e  Bu %.1e  v %.1e\n", policy_names[kind], f.total, f.g,
               f.bu, f.v);
    if (!(f.total < 1e-15))
        FAILm(WHY("%s: probabilities miss 1 by %g", policy_names[kind], f.total));
    if (!(f.g < TOL)) FAILm(WHY("%s: E g misses grad J by %g", policy_names[kind], f.g));
    if (!(f.bu < TOL)) FAILm(WHY("%s: E Bu misses hess J u by %g", policy_names[kind], f.bu));
    if (!(f.v < TOL)) FAILm(WHY("%s: E v misses the difference by %g", policy_names[kind], f.v));
    PASS();
}

/* The header says so: with ReLU, where a unit changes its sign between the two thetas, grad log pi
   jumps, and E v, though E B u = hess J u wherever there is a Hessian, misses the jump. */
TEST relu_misses_the_jump(int kind) {
    const mdp m = mdp_random(33);
    const rn_method method = plain_method();
    model p;
    found f;
    make_policy(&p, kind);
    lab_open(&the_lab, &m, &p, &method, 0);
    f = lab_measure(&the_lab, &method, 10);
    lab_close(&the_lab);
    if (GREATEST_IS_VERBOSE())
        printf("    %-9s g %.1e  Bu %.1e  v %.1e\n", policy_names[kind], f.g, f.bu, f.v);
    ASSERT(f.g < TOL && f.bu < TOL);
    if (kind == MLP_RELU) ASSERTm("no unit changed its sign", f.v > 0.02);
    if (kind != MLP_RELU) ASSERT(f.v < TOL);
    PASS();
}

/* whatever the past has taught a baseline: nothing is biased */
TEST baselines_change_no_expectation(int kind, rn_baseline baseline, rn_estimator estimator,
                                     int causal) {
    const mdp m = mdp_random((uint64_t)(20 + kind));
    rn_method method = plain_method(), none = plain_method();
    model p;
    found f;
    rn_real plain[MAX_DIM];
    double moved;
    method.estimator = none.estimator = estimator;
    method.causal = none.causal = causal;
    method.baseline = baseline;
    make_policy(&p, kind);
    lab_open(&the_lab, &m, &p, &none, 0);
    memcpy(plain, lab_g(&the_lab, &the_lab.all[0]), p.policy.dim * sizeof *plain);
    lab_close(&the_lab);
    lab_open(&the_lab, &m, &p, &method, 12);
    {
        wide g[MAX_DIM];
        widen(plain, p.policy.dim, g);
        moved = distance(lab_g(&the_lab, &the_lab.all[0]), g, p.policy.dim);
    }
    f = lab_measure(&the_lab, &method, 10);
    lab_close(&the_lab);
    if (GREATEST_IS_VERBOSE())
        printf("    %-9s moved %.1e  g %.1e  Bu %.1e  v %.1e\n", policy_names[kind], moved, f.g,
               f.bu, f.v);
    if (!(moved > 1e-3)) FAILm(WHY("%s: the baseline does nothing", policy_names[kind]));
    if (!(f.g < 4 * TOL)) FAILm(WHY("%s: E g misses grad J by %g", policy_names[kind], f.g));
    if (!(f.bu < 4 * TOL)) FAILm(WHY("%s: E Bu misses hess J u by %g", policy_names[kind], f.bu));
    if (!(f.v < 4 * TOL))
        FAILm(WHY("%s: E v misses the difference by %g", policy_names[kind], f.v));
    PASS();
}

/* g and v of flat weights are unbiased estimates of G and its change, and G is not grad J */
TEST flat_estimates_its_definition(int kind, int causal, rn_baseline baseline) {
    const mdp m = mdp_random((uint64_t)(10 + kind));
    rn_method method = plain_method();
    wide theta[MAX_DIM], grad[MAX_DIM], G[MAX_DIM];
    model p;
    found f;
    double bias;
    method.flat = 1;
    method.discount = 0.6;
    method.causal = causal;
    method.baseline = baseline;
    make_policy(&p, kind);
    lab_open(&the_lab, &m, &p, &method, baseline ? 12 : 0);
    f = lab_measure(&the_lab, &method, 10);
    widen(the_lab.theta, p.policy.dim, theta);
    lab_close(&the_lab);
    mdp_derivatives(&m, &p, theta, NULL, HORIZON, method.discount, grad, NULL);
    aim(&m, &p, &method, theta, NULL, G, NULL);
    bias = gap(G, grad, p.policy.dim) / (double)wide_max(grad, p.policy.dim);
    if (GREATEST_IS_VERBOSE())
        printf("    %-9s g %.1e  Bu %.1e  v %.1e  bias %.2f\n", policy_names[kind], f.g, f.bu, f.v,
               bias);
    if (!(f.g < 4 * TOL)) FAILm(WHY("%s: E g misses G by %g", policy_names[kind], f.g));
    if (!(f.bu < 4 * TOL)) FAILm(WHY("%s: E Bu misses DG u by %g", policy_names[kind], f.bu));
    if (!(f.v < 4 * TOL))
        FAILm(WHY("%s: E v misses the difference by %g", policy_names[kind], f.v));
    ASSERT(bias > 0.02);
    PASS();
}

/* with nothing to divide by, the bits are those of the paper's form */
TEST flat_without_discount_changes_nothing(int causal) {
    const mdp m = mdp_random(12);
    rn_real out[2][2][MAX_DIM];
    model p;
    make_policy(&p, MLP_TANH);
    for (int flat = 0; flat < 2; flat++) {
        rn_method method = plain_method();
        rn_real kept[MAX_DIM];
        method.discount = 1;
        method.causal = causal;
        method.flat = flat;
        lab_open(&the_lab, &m, &p, &method, 0);
        memcpy(out[flat][0], lab_g(&the_lab, &the_lab.all[7]), sizeof kept);
        memcpy(out[flat][1], lab_v(&the_lab, &the_lab.all[9], kept), sizeof kept);
        lab_close(&the_lab);
    }
    for (int k = 0; k < 2; k++) ASSERT(same_bits(out[0][k], out[1][k], p.policy.dim));
    PASS();
}

/* E v of reuse is hess J u at theta_t itself, so it misses grad J_t - grad J_{t-1} by O(u^2): half
   the step, a quarter of the bias */
TEST reuse_is_biased_by_the_square_of_the_step(int kind, int causal, int flat) {
    const mdp m = mdp_random((uint64_t)(10 + kind));
    rn_method method = plain_method();
    double bias[4], miss = 0;
    model p;
    method.reuse = 1;
    method.causal = causal;
    method.flat = flat;
    make_policy(&p, kind);
    lab_open(&the_lab, &m, &p, &method, 0);
    for (int k = 0; k < 4; k++) {
        wide theta[MAX_DIM], before[MAX_DIM], u[MAX_DIM], mean[MAX_DIM], hess[MAX_DIM],
            now[MAX_DIM], old[MAX_DIM];
        double e;
        for (size_t i = 0; i < p.policy.dim; i++) {
            if (k) the_lab.theta[i] = (the_lab.theta[i] + the_lab.before[i]) / 2;
            theta[i] = (wide)the_lab.theta[i];
            before[i] = (wide)the_lab.before[i];
            u[i] = (wide)(rn_real)(the_lab.theta[i] - the_lab.before[i]);
        }
        lab_expect_v(&the_lab, 0.5L, mean);
        aim(&m, &p, &method, theta, u, now, hess);
        aim(&m, &p, &method, before, NULL, old, NULL);
        for (size_t i = 0; i < p.policy.dim; i++) now[i] -= old[i];
        bias[k] = gap(mean, now, p.policy.dim);
        e = gap(mean, hess, p.policy.dim);
        if (!(e <= miss)) miss = e;
    }
    lab_close(&the_lab);
    if (GREATEST_IS_VERBOSE())
        printf("    %-9s hess u %.1e  bias %.1e %.1e %.1e %.1e\n", policy_names[kind], miss,
               bias[0], bias[1], bias[2], bias[3]);
    if (!(miss < TOL)) FAILm(WHY("%s: E v misses hess J u by %g", policy_names[kind], miss));
    for (int k = 1; k < 3; k++) ASSERT(bias[k] > 3 * bias[k + 1] && bias[k] < 5 * bias[k + 1]);
    PASS();
}

/* ---- rounds that an agent missed: its v spans from the theta it saw last, however far that is, so
   that E d - grad J(theta_t) = (1-eta) (d - grad J(theta_last)): the error of d shrinks as if it
   had been there. A plan that says how many were missed is answered by the same bits. */
static int misses_rounds(lab *l, size_t number) {
    const size_t dim = l->s.p->policy.dim;
    rn_real kept[MAX_DIM], d[MAX_DIM];
    rn_plan plan;
    memcpy(d, lab_v(l, &l->all[5], kept), dim * sizeof *d);
    plan.theta = l->theta;
    plan.eta = 0;
    plan.round = number;
    if (rn_agent_load(l->agent, l->saved, l->saved_size) != RN_OK) abort();
    l->s.plays = 0;
    return rn_agent_run_plan(l->agent, &plan) == RN_OK &&
           same_bits(d, rn_agent_direction(l->agent), dim);
}

TEST missed_rounds_change_no_expectation(int kind, size_t missed) {
    const mdp m = mdp_random((uint64_t)(70 + kind));
    const rn_method method = plain_method();
    rng r = rng_make(missed);
    model p;
    found f;
    make_policy(&p, kind);
    lab_open(&the_lab, &m, &p, &method, 3); /* d is not 0 */
    for (size_t k = 0; k < missed; k++)
        for (size_t i = 0; i < p.policy.dim; i++)
            the_lab.theta[i] += (rn_real)(0.2 * rng_normal(&r));
    ASSERT(misses_rounds(&the_lab, 4 + missed));
    f = lab_measure(&the_lab, &method, 14);
    lab_close(&the_lab);
    if (!(f.g < TOL)) FAILm(WHY("%s: E g misses grad J by %g", policy_names[kind], f.g));
    if (!(f.v < 4 * TOL)) FAILm(WHY("%s: E v misses by %g", policy_names[kind], f.v));
    PASS();
}

/* ---- lookahead: E d = (1-eta) d + eta grad J(theta~), exactly; and (1-eta) theta_{t-1} + eta
   theta~ = theta_t, so that E d = grad J(theta_t) wherever grad J is linear and d was right */
static void lab_expect_ahead(lab *l, double eta, wide *mean) {
    const size_t dim = l->s.p->policy.dim;
    chances c;
    c.known = 0;
    for (size_t i = 0; i < dim; i++) mean[i] = 0;
    for (size_t k = 0; k < l->count; k++) {
        const rn_real *d;
        wide weight;
        l->s.plays = 0;
        l->s.play[0] = l->s.play[1] = &l->all[k];
        if (rn_agent_load(l->agent, l->saved, l->saved_size) != RN_OK) abort();
        if (rn_agent_run_round(l->agent, l->theta, eta) != RN_OK) abort();
        if (l->s.plays != 1) abort(); /* one trajectory */
        d = rn_agent_direction(l->agent);
        weight = probability(&l->s, &l->all[k], &c);
        for (size_t i = 0; i < dim; i++) mean[i] += weight * (wide)d[i];
    }
}

TEST lookahead_is_its_formula(int kind, int flat) {
    static const double etas[] = {0.25, 0.5, 1, 0};
    const mdp m = mdp_random((uint64_t)(90 + kind));
    rn_method method = plain_method();
    model p;
    method.lookahead = 1;
    method.flat = flat;
    make_policy(&p, kind);
    lab_open(&the_lab, &m, &p, &method, 2);
    for (size_t k = 0; k < 4; k++) {
        const size_t dim = p.policy.dim;
        const wide eta = (wide)etas[k], steps = etas[k] > 0 ? (1 - eta) / eta : 0;
        wide ahead[MAX_DIM], mean[MAX_DIM], want[MAX_DIM];
        rn_real d[MAX_DIM];
        if (rn_agent_load(the_lab.agent, the_lab.saved, the_lab.saved_size) != RN_OK) abort();
        memcpy(d, rn_agent_direction(the_lab.agent), dim * sizeof *d);
        lab_expect_ahead(&the_lab, etas[k], mean);
        for (size_t i = 0; i < dim; i++) {
            const wide now = (wide)the_lab.theta[i], before = (wide)the_lab.before[i];
            ahead[i] = (wide)the_lab.s.theta[i]; /* where it was played */
            ASSERT((double)wide_abs(ahead[i] - now - steps * (now - before)) < TOL);
            if (steps > 0)
                ASSERT((double)wide_abs((1 - eta) * before + eta * ahead[i] - now) < TOL);
        }
        aim(&m, &p, &method, ahead, NULL, want, NULL);
        for (size_t i = 0; i < dim; i++) want[i] = (1 - eta) * (wide)d[i] + eta * want[i];
        ASSERT(gap(mean, want, dim) < TOL);
    }
    lab_close(&the_lab);
    PASS();
}

TEST whitening_is_biased(void) {
    const mdp m = mdp_random(10);
    rn_method method = plain_method();
    model p;
    found f;
    method.whiten = 1;
    make_policy(&p, TABLE);
    lab_open(&the_lab, &m, &p, &method, 0);
    f = lab_measure(&the_lab, &method, 4);
    lab_close(&the_lab);
    if (GREATEST_IS_VERBOSE()) printf("    bias: g %.3f  Bu %.3f  v %.3f\n", f.g, f.bu, f.v);
    ASSERT(f.g > 0.05);
    ASSERT(f.bu > 0.01);
    PASS();
}

/* ---- Gaussian policies: two steps of s' = s/2 + 0.4 a, by Gauss-Hermite quadrature over the
   actions. The reference moves the actions with theta, a = mu + std z (no score function
   anywhere), so it is another route altogether. */
enum { GH = 16 };

typedef struct gauss_script {
    rn_policy inner;
    const model *p;
    size_t steps, plays, t;
    wide z[2][2];   /* [step][number] of the trajectory that counts */
    int idle_first; /* the first trajectory of the round is the idle one */
    wide s;
    rn_real theta[MAX_DIM];
    uint64_t q;
} gauss_script;

static wide gauss_reward(wide s, const wide *a, size_t n) {
    wide r = 0.2L * s * s;
    for (size_t j = 0; j < n; j++) r += a[j] - 0.3L * a[j] * a[j] + 0.5L * s * a[j];
    return n > 1 ? r + 0.25L * a[0] * a[1] : r;
}

static int gauss_idle(const gauss_script *g) { return g->idle_first && g->plays == 1; }

static void gauss_reset(void *self, const agg_rng *r, rn_real *obs) {
    gauss_script *g = (gauss_script *)self;
    (void)r;
    g->plays++;
    g->t = 0;
    g->s = 0.75L;
    obs[0] = (rn_real)g->s;
}

static rn_step_result gauss_step(void *self, const rn_real *act, const agg_rng *r, rn_real *obs,
                                 double *reward) {
    gauss_script *g = (gauss_script *)self;
    wide a[2] = {0, 0};
    (void)r;
    for (size_t j = 0; j < g->p->policy.act_dim; j++) a[j] = (wide)act[j];
    *reward = gauss_idle(g) ? 0 : (double)gauss_reward(g->s, a, g->p->policy.act_dim);
    obs[0] = (rn_real)(g->s / 2 + 0.4L * a[0]);
    g->s = (wide)obs[0];
    return ++g->t == g->steps || gauss_idle(g) ? RN_TERMINATED : RN_RUNNING;
}

static void gauss_act(void *self, const rn_real *theta, const rn_real *obs, const agg_rng *r,
                      rn_real *act, void *work) {
    gauss_script *g = (gauss_script *)self;
    const size_t n = g->p->policy.act_dim;
    hyper th[MAX_DIM], x[2], y[HEAD_MAX];
    (void)r;
    (void)work;
    memcpy(g->theta, theta, g->p->policy.dim * sizeof *theta);
    for (size_t i = 0; i < g->p->policy.dim; i++) th[i] = hy((wide)theta[i]);
    hy_obs(obs, 1, x);
    model_head(g->p, th, x, y);
    for (size_t j = 0; j < n; j++) act[j] = (rn_real)(y[j].v + expl(y[n + j].v) * g->z[g->t][j]);
}

static uint64_t gauss_next(void *self) { return ((gauss_script *)self)->q; }

/* J along z = one trajectory's noise */
static hyper gauss_value(const model *p, const hyper *theta, size_t steps, double discount,
                         wide z[2][2]) {
    const size_t n = p->policy.act_dim;
    hyper s = hy(0.75L), J = hy(0);
    wide power = 1;
    for (size_t t = 0; t < steps; t++, power *= (wide)discount) {
        hyper y[HEAD_MAX], a[2] = {{0, 0, 0, 0}, {0, 0, 0, 0}}, r = hy_times(0.2L, hy_mul(s, s));
        model_head(p, theta, &s, y);
        for (size_t j = 0; j < n; j++) {
            a[j] = hy_add(y[j], hy_times(z[t][j], hy_exp(y[n + j])));
            r = hy_add(r, hy_sub(a[j], hy_times(0.3L, hy_mul(a[j], a[j]))));
            r = hy_add(r, hy_times(0.5L, hy_mul(s, a[j])));
        }
        if (n > 1) r = hy_add(r, hy_times(0.25L, hy_mul(a[0], a[1])));
        J = hy_add(J, hy_times(power, r));
        s = hy_add(hy_times(0.5L, s), hy_times(0.4L, a[0]));
    }
    return J;
}

/* all trajectories of the grid: z and its weight */
static wide gauss_node(size_t k, size_t steps, size_t n, const wide *x, const wide *w,
                       wide z[2][2]) {
    wide weight = 1;
    for (size_t t = 0; t < steps; t++)
        for (size_t j = 0; j < n; j++, k /= GH) {
            z[t][j] = x[k % GH];
            weight *= w[k % GH];
        }
    return weight;
}

static rn_agent_desc gauss_desc(gauss_script *g, int causal) {
    rn_agent_desc d;
    memset(&d, 0, sizeof d);
    g->inner = g->p->policy;
    d.policy = policy_around(g);
    d.policy.act = gauss_act;
    d.policy.prepare = NULL;
    d.env.self = d.rng.self = g;
    d.env.reset = gauss_reset;
    d.env.step = gauss_step;
    d.env.obs_dim = 1;
    d.env.act_dim = g->p->policy.act_dim;
    d.rng.next = gauss_next;
    d.method = plain_method();
    d.method.causal = causal;
    return d;
}

/* an agent with one round behind it that left d = 0, at `before` */
typedef struct gauss_lab {
    gauss_script g;
    rn_agent *agent;
    void *block;
    unsigned char *saved;
    size_t size;
    rn_real theta[MAX_DIM], before[MAX_DIM];
    wide x[GH], w[GH];
} gauss_lab;

static void gauss_open(gauss_lab *l, const model *p, size_t steps, int causal, rng *r) {
    rn_agent_desc d;
    memset(l, 0, sizeof *l);
    l->g.p = p;
    l->g.steps = steps;
    d = gauss_desc(&l->g, causal);
    l->block = need(malloc(rn_agent_size(&d)));
    if (rn_agent_init(&l->agent, &d, l->block, rn_agent_size(&d)) != RN_OK) abort();
    for (size_t i = 0; i < p->policy.dim; i++) {
        l->before[i] = (rn_real)(0.25 * rng_normal(r));
        l->theta[i] = (rn_real)((double)l->before[i] + 0.1 * rng_normal(r));
    }
    if (gauss_rule(hermite, GH, 12, l->x, l->w) != GH) abort();
    l->g.idle_first = 1;
    if (rn_agent_run_round(l->agent, l->before, 1) != RN_OK) abort();
    l->size = rn_agent_save_size(l->agent);
    l->saved = (unsigned char *)need(malloc(l->size));
    if (rn_agent_save(l->agent, l->saved, l->size) != RN_OK) abort();
    l->g.q = (uint64_t)0x5000000000000000u;
}

/* the direction after one more round: g with eta = 1, B u of the second trajectory with eta = 0 */
static void gauss_add(gauss_lab *l, int second, wide weight, wide *sum) {
    l->g.plays = 0;
    l->g.idle_first = second;
    if (rn_agent_load(l->agent, l->saved, l->size) != RN_OK) abort();
    if (rn_agent_run_round(l->agent, l->theta, second ? 0 : 1) != RN_OK) abort();
    for (size_t i = 0; i < l->g.p->policy.dim; i++)
        sum[i] += weight * (wide)rn_agent_direction(l->agent)[i];
}

/* grad J at theta, and hess J (theta - before) at theta^, of one trajectory's noise */
static void gauss_add_reference(const gauss_lab *l, wide weight, wide *grad, wide *hess) {
    const size_t dim = l->g.p->policy.dim;
    wide z[2][2];
    memcpy(z, l->g.z, sizeof z);
    for (size_t i = 0; i < dim; i++) {
        hyper at[MAX_DIM], hat[MAX_DIM];
        for (size_t j = 0; j < dim; j++) {
            at[j] = hy((wide)l->theta[j]);
            hat[j] = hy((wide)l->g.theta[j]);
            hat[j].b = (wide)(rn_real)(l->theta[j] - l->before[j]);
        }
        at[i].a = hat[i].a = 1;
        grad[i] += weight * gauss_value(l->g.p, at, l->g.steps, 0.9, z).a;
        hess[i] += weight * gauss_value(l->g.p, hat, l->g.steps, 0.9, z).ab;
    }
}

TEST gaussian_expectations_are_exact(int state_std, size_t hidden, size_t act_dim, int causal) {
    wide mean_g[MAX_DIM] = {0}, mean_v[MAX_DIM] = {0}, grad[MAX_DIM] = {0}, hess[MAX_DIM] = {0};
    static gauss_lab l;
    rng r = rng_make(40 + hidden + act_dim);
    rn_net_desc nd = net_desc(1, act_dim, hidden, 0, RN_TANH);
    model p;
    double eg, ev;
    nd.gaussian = 1;
    nd.state_std = state_std;
    model_net(&p, &nd);
    gauss_open(&l, &p, act_dim > 1 ? 1 : 2, causal, &r);
    for (size_t k = 0; k < GH * GH; k++) {
        const wide weight = gauss_node(k, l.g.steps, act_dim, l.x, l.w, l.g.z);
        gauss_add(&l, 0, weight, mean_g);
        gauss_add(&l, 1, weight, mean_v);
        gauss_add_reference(&l, weight, grad, hess);
    }
    eg = gap(mean_g, grad, p.policy.dim);
    ev = gap(mean_v, hess, p.policy.dim);
    free(l.block);
    free(l.saved);
    if (GREATEST_IS_VERBOSE())
        printf("    std %d hidden %u: g %.1e  Bu %.1e\n", state_std, (unsigned)hidden, eg, ev);
    ASSERT(wide_max(hess, p.policy.dim) > 1e-3L);
    /* the quadrature leaves 6e-12 */
    if (!(eg < TOL + 2e-11)) FAILm(WHY("E g misses grad J by %g", eg));
    if (!(ev < TOL + 2e-11)) FAILm(WHY("E Bu misses hess J u by %g", ev));
    PASS();
}

/* ---- d_t - grad J(theta_t) = (1/t) sum_j M_j for eta_t = 1/t, in a run of the trainer with one
   agent: M_j = g_j - grad J(theta_j) + (j-1) (v_j - grad J(theta_j) + grad J(theta_{j-1})), from
   recorded trajectories */
typedef struct recorder { /* around a policy and an environment */
    rn_policy inner;
    rn_env env;
    size_t trajectories, T[2];
    rn_real theta[2][MAX_DIM], obs[2][HORIZON][FEATURES], act[2][HORIZON];
    double reward[2][HORIZON];
} recorder;

static void recorder_reset(void *self, const agg_rng *r, rn_real *obs) {
    recorder *k = (recorder *)self;
    k->T[k->trajectories++] = 0;
    k->env.reset(k->env.self, r, obs);
}

static rn_step_result recorder_step(void *self, const rn_real *act, const agg_rng *r, rn_real *obs,
                                    double *reward) {
    recorder *k = (recorder *)self;
    const size_t e = k->trajectories - 1, t = k->T[e]++;
    const rn_step_result result = k->env.step(k->env.self, act, r, obs, reward);
    k->act[e][t] = act[0];
    k->reward[e][t] = *reward;
    return result;
}

static void recorder_act(void *self, const rn_real *theta, const rn_real *obs, const agg_rng *r,
                         rn_real *act, void *work) {
    recorder *k = (recorder *)self;
    const size_t e = k->trajectories - 1;
    memcpy(k->theta[e], theta, k->inner.dim * sizeof *theta);
    memcpy(k->obs[e][k->T[e]], obs, k->inner.obs_dim * sizeof *obs);
    inner_act(self, theta, obs, r, act, work);
}

static rn_env recorder_env(recorder *k) {
    rn_env env = k->env;
    env.self = k;
    env.reset = recorder_reset;
    env.step = recorder_step;
    env.state_size = 0;
    return env;
}

static rn_trainer *recorder_trainer(recorder *k, const rn_real *start) {
    const rn_env env = recorder_env(k);
    rn_trainer_desc d;
    rn_trainer *t;
    memset(&d, 0, sizeof d);
    d.agents = 1;
    d.envs = &env;
    d.policy = policy_around(k);
    d.policy.act = recorder_act;
    d.method.horizon = HORIZON;
    d.method.discount = 0.9;
    d.server.theta = start;
    d.server.eta = rn_theory_eta();
    d.server.gamma = rn_theory_gamma(0.5, 1);
    if (rn_trainer_create(&t, &d) != RN_OK) abort();
    return t;
}

/* from trajectory e: g, or with a difference u of theta the v = B u */
static void recorded(const recorder *k, const model *p, size_t e, const wide *u, wide *out) {
    wide hat[MAX_DIM], psi[HORIZON], back = 0;
    rn_real state[HORIZON];
    for (size_t h = k->T[e]; h-- > 0;) {
        psi[h] = back += powl((wide)0.9, (wide)h) * (wide)k->reward[e][h];
        state[h] = k->obs[e][h][0];
    }
    widen(k->theta[e], p->policy.dim, hat);
    if (u)
        model_bu(p, hat, u, k->T[e], state, k->act[e], psi, -1, out);
    else
        model_gradient(p, hat, k->T[e], state, k->act[e], psi, out);
}

TEST error_is_a_mean_of_martingale_differences(void) {
    const mdp m = mdp_random(31);
    wide sum[MAX_DIM] = {0}, old[MAX_DIM] = {0}, before[MAX_DIM];
    rn_real start[MAX_DIM];
    rng r = rng_make(8);
    static recorder k;
    rn_trainer *trainer;
    model p;
    walk w;
    size_t dim;
    model_table(&p, STATES, ACTIONS);
    dim = p.policy.dim;
    memset(&k, 0, sizeof k);
    k.inner = p.policy;
    k.env = walk_env(&w, &m, 1);
    for (size_t i = 0; i < dim; i++) start[i] = (rn_real)rng_normal(&r);
    trainer = recorder_trainer(&k, start);
    for (size_t t = 1; t <= 200; t++) {
        wide theta[MAX_DIM], u[MAX_DIM], g[MAX_DIM], v[MAX_DIM], grad[MAX_DIM], want[MAX_DIM];
        double e;
        k.trajectories = 0;
        ASSERT_EQ(RN_OK, rn_trainer_run_round(trainer));
        ASSERT_EQ((size_t)(t == 1 ? 1 : 2), k.trajectories);
        widen(k.theta[0], dim, theta);
        mdp_derivatives(&m, &p, theta, NULL, HORIZON, 0.9, grad, NULL);
        recorded(&k, &p, 0, NULL, g);
        for (size_t i = 0; i < dim; i++) u[i] = t > 1 ? theta[i] - before[i] : 0;
        if (t > 1) recorded(&k, &p, 1, u, v);
        for (size_t i = 0; i < dim; i++) {
            sum[i] += g[i] - grad[i];
            if (t > 1) sum[i] += (wide)(t - 1) * (v[i] - grad[i] + old[i]);
            want[i] = sum[i] / (wide)t + grad[i];
            old[i] = grad[i];
            before[i] = theta[i];
        }
        e = distance(rn_agent_direction(rn_trainer_agent(trainer, 0)), want, dim);
        if (!(e < 10 * TOL)) FAILm(WHY("round %u: the identity misses by %g", (unsigned)t, e));
    }
    rn_trainer_destroy(trainer);
    PASS();
}

SUITE(reference) {
    RUN_TEST(derivatives_by_two_routes);
    RUN_TEST(quadrature_integrates_polynomials);
}

SUITE(expectations) {
    RUN_TESTp(relu_misses_the_jump, MLP_RELU);
    RUN_TESTp(relu_misses_the_jump, MLP_TANH);
    for (int kind = 0; kind < POLICIES; kind++)
        for (int e = 0; e < 2; e++)
            for (int causal = 0; causal < 2; causal++)
                RUN_TESTp(expectations_are_exact, kind, e ? RN_REINFORCE : RN_GPOMDP, causal);
    for (int e = 0; e < 2; e++)
        for (int causal = 0; causal < 2; causal++) {
            const rn_estimator estimator = e ? RN_REINFORCE : RN_GPOMDP;
            RUN_TESTp(baselines_change_no_expectation, TABLE, RN_BASELINE_TIME, estimator, causal);
            RUN_TESTp(baselines_change_no_expectation, MLP_TANH, RN_BASELINE_RIDGE, estimator,
                      causal);
        }
    RUN_TEST(whitening_is_biased);
    for (size_t missed = 1; missed <= 5; missed += 2) {
        RUN_TESTp(missed_rounds_change_no_expectation, TABLE, missed);
        RUN_TESTp(missed_rounds_change_no_expectation, MLP_TANH, missed);
    }
    for (int flat = 0; flat < 2; flat++) {
        RUN_TESTp(lookahead_is_its_formula, TABLE, flat);
        RUN_TESTp(lookahead_is_its_formula, MLP_TANH, flat);
    }
    for (int causal = 0; causal < 2; causal++) {
        RUN_TESTp(flat_estimates_its_definition, TABLE, causal, RN_BASELINE_NONE);
        RUN_TESTp(flat_estimates_its_definition, MLP_TANH, causal, RN_BASELINE_NONE);
        RUN_TESTp(flat_estimates_its_definition, TABLE, causal, RN_BASELINE_TIME);
        RUN_TESTp(flat_estimates_its_definition, MLP_TANH, causal, RN_BASELINE_RIDGE);
        RUN_TESTp(flat_without_discount_changes_nothing, causal);
        for (int flat = 0; flat < 2; flat++) {
            RUN_TESTp(reuse_is_biased_by_the_square_of_the_step, TABLE, causal, flat);
            RUN_TESTp(reuse_is_biased_by_the_square_of_the_step, MLP_HEAD, causal, flat);
        }
    }
}

SUITE(gaussians) {
    for (int causal = 0; causal < 2; causal++) {
        RUN_TESTp(gaussian_expectations_are_exact, 0, 0, 1, causal);
        RUN_TESTp(gaussian_expectations_are_exact, 1, 0, 1, causal);
        RUN_TESTp(gaussian_expectations_are_exact, 0, 3, 1, causal);
        RUN_TESTp(gaussian_expectations_are_exact, 1, 3, 1, causal);
        RUN_TESTp(gaussian_expectations_are_exact, 1, 2, 2, causal);
    }
}

SUITE(recursion) { RUN_TEST(error_is_a_mean_of_martingale_differences); }

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(reference);
    RUN_SUITE(expectations);
    RUN_SUITE(gaussians);
    RUN_SUITE(recursion);
    GREATEST_MAIN_END();
}
