/* Shared by the tests of resnharpg.h: numbers that carry exact derivatives, plain policies written
   with them, and a tiny decision process whose J_H, gradient and Hessian are known. Include
   resnharpg.h and common.h first. */
#ifndef TESTS_TINY_H
#define TESTS_TINY_H

/* ---- hyper-dual numbers: f(x + a e1 + b e2), e1^2 = e2^2 = 0. f(theta + e1 e_i + e2 u) holds,
   without any step size, f, df/dtheta_i (a), grad f . u (b) and (hess f u)_i (ab). */
typedef long double wide;

typedef struct hyper {
    wide v, a, b, ab;
} hyper;

static inline hyper hy(wide v) {
    hyper x;
    x.v = v;
    x.a = x.b = x.ab = 0;
    return x;
}

static inline hyper hy_add(hyper x, hyper y) {
    x.v += y.v;
    x.a += y.a;
    x.b += y.b;
    x.ab += y.ab;
    return x;
}

static inline hyper hy_times(wide k, hyper x) {
    x.v *= k;
    x.a *= k;
    x.b *= k;
    x.ab *= k;
    return x;
}

static inline hyper hy_sub(hyper x, hyper y) { return hy_add(x, hy_times(-1, y)); }

static inline hyper hy_mul(hyper x, hyper y) {
    hyper z;
    z.v = x.v * y.v;
    z.a = x.a * y.v + x.v * y.a;
    z.b = x.b * y.v + x.v * y.b;
    z.ab = x.ab * y.v + x.a * y.b + x.b * y.a + x.v * y.ab;
    return z;
}

/* f, f', f'' at x.v */
static inline hyper hy_chain(hyper x, wide f, wide f1, wide f2) {
    hyper z;
    z.v = f;
    z.a = f1 * x.a;
    z.b = f1 * x.b;
    z.ab = f1 * x.ab + f2 * x.a * x.b;
    return z;
}

static inline hyper hy_exp(hyper x) {
    const wide e = expl(x.v);
    return hy_chain(x, e, e, e);
}

static inline hyper hy_log(hyper x) { return hy_chain(x, logl(x.v), 1 / x.v, -1 / (x.v * x.v)); }

static inline hyper hy_tanh(hyper x) {
    const wide h = tanhl(x.v), c = coshl(x.v), slope = 1 / (c * c);
    return hy_chain(x, h, slope, -2 * h * slope);
}

/* ---- plain policies: a table, or a net as rn_net_desc describes it */
#define HEAD_MAX 64

typedef struct model {
    int table; /* 1: theta[state][action] */
    size_t states, actions;
    rn_net_desc net;
    rn_net built; /* what the library makes of it */
    rn_table built_table;
    rn_policy policy;
} model;

static inline void model_net(model *m, const rn_net_desc *d) {
    memset(m, 0, sizeof *m);
    m->net = *d;
    m->policy = rn_make_net_policy(&m->built, d);
}

static inline void model_table(model *m, size_t states, size_t actions) {
    memset(m, 0, sizeof *m);
    m->table = 1;
    m->states = states;
    m->actions = actions;
    m->policy = rn_make_table_policy(&m->built_table, states, actions);
}

static inline hyper model_phi(const rn_net_desc *d, hyper x) {
    if (d->activation == RN_TANH) return hy_tanh(x);
    if (d->activation == RN_RELU && !(x.v > 0)) return hy(0);
    return x;
}

/* logits; or means, then log-stds */
static inline void model_head(const model *m, const hyper *theta, const hyper *obs, hyper *y) {
    const rn_net_desc *d = &m->net;
    hyper x[HEAD_MAX];
    size_t in = d->obs_dim, at = 0, layer = 0, i, j;
    int last;
    if (m->table) {
        for (j = 0; j < m->actions; j++) y[j] = theta[(size_t)obs[0].v * m->actions + j];
        return;
    }
    for (i = 0; i < in; i++) x[i] = obs[i];
    do {
        size_t out;
        last = layer == RN_MAX_HIDDEN || !d->hidden[layer];
        out = !last ? d->hidden[layer] : d->gaussian && d->state_std ? 2 * d->outputs : d->outputs;
        for (j = 0; j < out; j++) {
            y[j] = d->no_bias ? hy(0) : theta[at + in * out + j];
            for (i = 0; i < in; i++) y[j] = hy_add(y[j], hy_mul(x[i], theta[at + i * out + j]));
        }
        for (j = 0; j < out && !last; j++) x[j] = model_phi(d, y[j]);
        at += in * out + (d->no_bias ? 0 : out);
        in = out;
        layer++;
    } while (!last);
    for (j = 0; j < d->outputs && d->tanh_head; j++) y[j] = hy_tanh(y[j]);
    if (!d->gaussian) return;
    for (j = 0; j < d->outputs; j++) {
        hyper s = d->state_std ? y[d->outputs + j] : theta[at + j];
        const wide low = (wide)(rn_real)d->log_std_min, high = (wide)(rn_real)d->log_std_max;
        if ((low < 0 || low > 0 || high < 0 || high > 0) && s.v < low) s = hy(low);
        if ((low < 0 || low > 0 || high < 0 || high > 0) && s.v > high) s = hy(high);
        y[d->outputs + j] = s;
    }
}

static inline hyper model_log_pi(const model *m, const hyper *theta, const hyper *obs,
                                 const rn_real *act) {
    const size_t n = m->table ? m->actions : m->net.outputs;
    hyper y[HEAD_MAX], sum = hy(0);
    wide most;
    size_t j;
    y[0] = hy(0);
    model_head(m, theta, obs, y);
    if (!m->table && m->net.gaussian) {
        for (j = 0; j < n; j++) {
            const hyper z = hy_mul(hy_sub(hy((wide)act[j]), y[j]), hy_exp(hy_times(-1, y[n + j])));
            sum = hy_sub(sum, hy_add(hy_times(0.5L, hy_mul(z, z)), y[n + j]));
            sum.v -= 0.91893853320467274178L; /* log(2 pi)/2 */
        }
        return sum;
    }
    most = y[0].v;
    for (j = 1; j < n; j++)
        if (y[j].v > most) most = y[j].v;
    for (j = 0; j < n; j++) sum = hy_add(sum, hy_exp(hy_sub(y[j], hy(most))));
    return hy_sub(y[(size_t)act[0]], hy_add(hy_log(sum), hy(most)));
}

static inline void hy_obs(const rn_real *obs, size_t n, hyper *x) {
    for (size_t i = 0; i < n; i++) x[i] = hy((wide)obs[i]);
}

static inline wide model_probability(const model *m, const rn_real *theta, const rn_real *obs,
                                     wide action) {
    hyper th[512], x[HEAD_MAX];
    const rn_real a = (rn_real)action;
    for (size_t i = 0; i < m->policy.dim; i++) th[i] = hy((wide)theta[i]);
    hy_obs(obs, m->policy.obs_dim, x);
    return expl(model_log_pi(m, th, x, &a).v);
}

/* grad log pi and hess log pi u of one step, and c = grad . u. theta, u: dim wide numbers */
static inline wide model_step(const model *m, const wide *theta, const wide *u, const rn_real *obs,
                              const rn_real *act, wide *grad, wide *hess) {
    const size_t dim = m->policy.dim;
    hyper *th = (hyper *)need(malloc(dim * sizeof *th)), x[HEAD_MAX], f = hy(0);
    for (size_t i = 0; i < dim; i++) {
        th[i] = hy(theta[i]);
        th[i].b = u[i];
    }
    hy_obs(obs, m->policy.obs_dim, x);
    for (size_t i = 0; i < dim; i++) {
        th[i].a = 1;
        f = model_log_pi(m, th, x, act);
        th[i].a = 0;
        grad[i] = f.a;
        hess[i] = f.ab;
    }
    free(th);
    return f.b;
}

/* B u of a whole trajectory by its definition: all pairs (s, t). fade: -1 for the paper's form, 1 for
   the causal one, of flat weights their discount */
static inline void model_bu(const model *m, const wide *theta, const wide *u, size_t T,
                            const rn_real *obs, const rn_real *act, const wide *w, wide fade,
                            wide *bu) {
    const size_t dim = m->policy.dim;
    wide *grad = (wide *)need(malloc((T * dim + 1) * sizeof *grad)),
         *hess = (wide *)need(malloc(dim * sizeof *hess));
    wide *c = (wide *)need(malloc((T + 1) * sizeof *c));
    for (size_t i = 0; i < dim; i++) bu[i] = 0;
    for (size_t t = 0; t < T; t++) {
        c[t] = model_step(m, theta, u, obs + t * m->policy.obs_dim, act + t * m->policy.act_dim,
                          grad + t * dim, hess);
        for (size_t i = 0; i < dim; i++) bu[i] += w[t] * hess[i];
    }
    for (size_t t = 0; t < T; t++)
        for (size_t s = 0; s < T; s++) {
            const int later = fade >= 0 && s > t;
            const wide k = later ? powl(fade, (wide)(s - t)) * w[s] * c[s] : w[t] * c[s];
            for (size_t i = 0; i < dim; i++) bu[i] += k * grad[t * dim + i];
        }
    free(grad);
    free(hess);
    free(c);
}

static inline void model_gradient(const model *m, const wide *theta, size_t T, const rn_real *obs,
                                  const rn_real *act, const wide *w, wide *g) {
    const size_t dim = m->policy.dim;
    wide *one = (wide *)need(malloc(3 * dim * sizeof *one)), *hess = one + dim, *zero = hess + dim;
    for (size_t i = 0; i < dim; i++) g[i] = zero[i] = 0;
    for (size_t t = 0; t < T; t++) {
        (void)model_step(m, theta, zero, obs + t * m->policy.obs_dim, act + t * m->policy.act_dim,
                         one, hess);
        for (size_t i = 0; i < dim; i++) g[i] += w[t] * one[i];
    }
    free(one);
}

/* ---- a decision process with 3 states and 2 actions */
enum { STATES = 3, ACTIONS = 2, FEATURES = 2 };

typedef struct mdp {
    double start[STATES], move[STATES][ACTIONS][STATES], reward[STATES][ACTIONS][STATES];
    double feature[STATES][FEATURES]; /* what a net sees instead of the number of the state */
    int end[STATES];                  /* 1: entering it terminates, 2: truncates */
} mdp;

static inline mdp mdp_random(uint64_t seed) {
    rng r = rng_make(seed);
    mdp m;
    memset(&m, 0, sizeof m);
    m.start[0] = 0.6;
    m.start[1] = 0.4;
    m.end[2] = 1 + (int)(seed % 2);
    for (int s = 0; s < STATES; s++) {
        for (int k = 0; k < FEATURES; k++) m.feature[s][k] = (double)(rn_real)rng_normal(&r);
        for (int a = 0; a < ACTIONS; a++) {
            double sum = 0;
            for (int n = 0; n < STATES; n++) sum += m.move[s][a][n] = 0.1 + rng_unit(&r);
            for (int n = 0; n < STATES; n++) {
                m.move[s][a][n] /= sum;
                m.reward[s][a][n] = rng_normal(&r);
            }
        }
    }
    return m;
}

static inline void mdp_observe(const mdp *m, int table, size_t s, rn_real *obs) {
    if (table) {
        obs[0] = (rn_real)s;
        return;
    }
    for (int k = 0; k < FEATURES; k++) obs[k] = (rn_real)m->feature[s][k];
}

/* J_H by dynamic programming */
static inline hyper mdp_value(const mdp *m, const model *p, const hyper *theta, size_t H,
                              double discount) {
    hyper pi[STATES][ACTIONS], V[STATES], next[STATES], J = hy(0);
    for (size_t s = 0; s < STATES; s++) {
        rn_real obs[FEATURES];
        hyper x[FEATURES];
        mdp_observe(m, p->table, s, obs);
        hy_obs(obs, p->policy.obs_dim, x);
        next[s] = hy(0);
        for (size_t a = 0; a < ACTIONS; a++) {
            const rn_real act = (rn_real)a;
            pi[s][a] = hy_exp(model_log_pi(p, theta, x, &act));
        }
    }
    for (size_t h = H; h > 0; h--) {
        for (size_t s = 0; s < STATES; s++) {
            V[s] = hy(0);
            for (size_t a = 0; a < ACTIONS; a++) {
                hyper Q = hy(0);
                for (size_t n = 0; n < STATES; n++) {
                    const hyper rest = m->end[n] ? hy(0) : hy_times((wide)discount, next[n]);
                    Q = hy_add(Q, hy_times((wide)m->move[s][a][n],
                                           hy_add(hy((wide)m->reward[s][a][n]), rest)));
                }
                V[s] = hy_add(V[s], hy_mul(pi[s][a], Q));
            }
        }
        memcpy(next, V, sizeof V);
    }
    for (size_t s = 0; s < STATES; s++) J = hy_add(J, hy_times((wide)m->start[s], next[s]));
    return J;
}

/* grad J_H (may be NULL) and hess J_H u (may be NULL) */
static inline void mdp_derivatives(const mdp *m, const model *p, const wide *theta, const wide *u,
                                   size_t H, double discount, wide *grad, wide *hess) {
    const size_t dim = p->policy.dim;
    hyper th[512];
    for (size_t i = 0; i < dim; i++) {
        th[i] = hy(theta[i]);
        th[i].b = u ? u[i] : 0;
    }
    for (size_t i = 0; i < dim; i++) {
        hyper J;
        th[i].a = 1;
        J = mdp_value(m, p, th, H, discount);
        th[i].a = 0;
        if (grad) grad[i] = J.a;
        if (hess) hess[i] = J.ab;
    }
}

/* as an environment; it can be saved */
typedef struct walk {
    const mdp *m;
    int table;
    uint32_t state, resets;
} walk;

/* the first with u below the running sum */
static inline size_t pick(const double *p, size_t n, double u) {
    double sum = 0;
    size_t i;
    for (i = 0; i + 1 < n; i++) {
        sum += p[i];
        if (u < sum) break;
    }
    return i;
}

static inline void walk_reset(void *self, const agg_rng *r, rn_real *obs) {
    walk *w = (walk *)self;
    w->state = (uint32_t)pick(w->m->start, STATES, rn_draw_uniform(r));
    w->resets++;
    mdp_observe(w->m, w->table, w->state, obs);
}

static inline rn_step_result walk_step(void *self, const rn_real *act, const agg_rng *r,
                                       rn_real *obs, double *reward) {
    walk *w = (walk *)self;
    const size_t s = w->state, a = (size_t)act[0],
                 next = pick(w->m->move[s][a], STATES, rn_draw_uniform(r));
    *reward = w->m->reward[s][a][next];
    w->state = (uint32_t)next;
    mdp_observe(w->m, w->table, next, obs);
    return w->m->end[next] == 1 ? RN_TERMINATED : w->m->end[next] == 2 ? RN_TRUNCATED : RN_RUNNING;
}

static inline void walk_save(const void *self, void *bytes) {
    const walk *w = (const walk *)self;
    unsigned char *to = (unsigned char *)bytes;
    for (int i = 0; i < 4; i++) {
        to[i] = (unsigned char)(w->state >> (8 * i));
        to[4 + i] = (unsigned char)(w->resets >> (8 * i));
    }
}

static inline int walk_load(void *self, const void *bytes) {
    walk *w = (walk *)self;
    const unsigned char *from = (const unsigned char *)bytes;
    uint32_t state = 0, resets = 0;
    for (int i = 0; i < 4; i++) {
        state |= (uint32_t)from[i] << (8 * i);
        resets |= (uint32_t)from[4 + i] << (8 * i);
    }
    if (state >= STATES) return 0;
    w->state = state;
    w->resets = resets;
    return 1;
}

static inline rn_env walk_env(walk *w, const mdp *m, int table) {
    rn_env e;
    memset(&e, 0, sizeof e);
    memset(w, 0, sizeof *w);
    w->m = m;
    w->table = table;
    e.self = w;
    e.reset = walk_reset;
    e.step = walk_step;
    e.obs_dim = table ? 1 : FEATURES;
    e.act_dim = 1;
    e.actions = ACTIONS;
    e.state_size = 8;
    e.save = walk_save;
    e.load = walk_load;
    return e;
}

/* the policy of a walker: a table of the states it sees, or a net of their features */
static inline void model_for_walk(model *m, int table, const rn_net_desc *net) {
    if (table)
        model_table(m, STATES, ACTIONS);
    else
        model_net(m, net);
}

static inline rn_net_desc net_desc(size_t obs, size_t outputs, size_t h0, size_t h1,
                                   rn_activation activation) {
    rn_net_desc d = rn_make_net_desc(obs, outputs);
    d.hidden[0] = h0;
    d.hidden[1] = h1;
    d.activation = activation;
    return d;
}

/* ---- a policy around another: self is a struct that begins with the inner rn_policy. What the
   test does not replace goes to that one. */
static inline void inner_act(void *self, const rn_real *theta, const rn_real *obs, const agg_rng *r,
                             rn_real *act, void *work) {
    const rn_policy *p = (const rn_policy *)self;
    p->act(p->self, theta, obs, r, act, work);
}

static inline void inner_grad(void *self, const rn_real *theta, size_t T, const rn_real *obs,
                              const rn_real *act, const rn_real *w, rn_real *g, void *work) {
    const rn_policy *p = (const rn_policy *)self;
    p->grad(p->self, theta, T, obs, act, w, g, work);
}

static inline void inner_dot(void *self, const rn_real *theta, const rn_real *u, size_t T,
                             const rn_real *obs, const rn_real *act, rn_real *c, void *work) {
    const rn_policy *p = (const rn_policy *)self;
    p->dot(p->self, theta, u, T, obs, act, c, work);
}

static inline void inner_hvp(void *self, const rn_real *theta, const rn_real *u, size_t T,
                             const rn_real *obs, const rn_real *act, const rn_real *w,
                             const rn_real *k, rn_real *h, void *work) {
    const rn_policy *p = (const rn_policy *)self;
    p->hvp(p->self, theta, u, T, obs, act, w, k, h, work);
}

static inline size_t inner_work(void *self, size_t T) {
    const rn_policy *p = (const rn_policy *)self;
    return p->work_size(p->self, T);
}

static inline void inner_prepare(void *self, const rn_real *theta, void *work) {
    const rn_policy *p = (const rn_policy *)self;
    if (p->prepare) p->prepare(p->self, theta, work);
}

static inline void inner_init(void *self, const agg_rng *r, rn_real *theta) {
    const rn_policy *p = (const rn_policy *)self;
    p->init(p->self, r, theta);
}

static inline int inner_accepts_obs(void *self, const rn_real *obs) {
    const rn_policy *p = (const rn_policy *)self;
    return p->accepts_obs(p->self, obs);
}

static inline int inner_accepts_act(void *self, const rn_real *act) {
    const rn_policy *p = (const rn_policy *)self;
    return p->accepts_act(p->self, act);
}

static inline rn_policy policy_around(void *self) {
    rn_policy p = *(const rn_policy *)self;
    p.self = self;
    p.act = inner_act;
    p.grad = inner_grad;
    p.dot = inner_dot;
    p.hvp = inner_hvp;
    p.work_size = inner_work;
    p.prepare = inner_prepare;
    p.init = NULL;
    if (p.accepts_obs) p.accepts_obs = inner_accepts_obs;
    if (p.accepts_act) p.accepts_act = inner_accepts_act;
    return p;
}

/* ---- three walkers: what a trainer of them is made of, and an agent that is one of them */
enum { TRIO = 3 };

typedef struct trio {
    mdp m;
    model p;
    walk walks[TRIO];
    rn_env envs[TRIO];
    rn_trainer_desc d;
    rn_agent_desc a;
} trio;

static inline void trio_make(trio *c, int table) {
    const rn_net_desc net = net_desc(FEATURES, ACTIONS, 2, 0, RN_TANH);
    memset(c, 0, sizeof *c);
    c->m = mdp_random(60);
    model_for_walk(&c->p, table, &net);
    for (size_t i = 0; i < TRIO; i++) c->envs[i] = walk_env(&c->walks[i], &c->m, table);
    c->d.agents = TRIO;
    c->d.envs = c->envs;
    c->d.policy = c->a.policy = c->p.policy;
    c->d.method.horizon = c->a.method.horizon = 4;
    c->d.server.gamma = rn_schedule_constant(0.1);
    c->d.server.eta = rn_schedule_constant(0.5);
    c->a.env = c->envs[0];
}

/* ---- shorthands */
static inline wide wide_abs(wide x) { return x < 0 ? -x : x; }

static inline wide wide_max(const wide *x, size_t n) {
    wide most = 0;
    for (size_t i = 0; i < n; i++)
        if (!(wide_abs(x[i]) <= most)) most = wide_abs(x[i]);
    return most;
}

/* the largest |x - y|; NaN counts as infinite */
static inline double distance(const rn_real *x, const wide *y, size_t n) {
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        const double d = (double)wide_abs((wide)x[i] - y[i]);
        if (!(d <= most)) most = d <= DBL_MAX ? d : HUGE_VAL;
    }
    return most;
}
#endif /* TESTS_TINY_H */
