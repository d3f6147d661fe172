/* fed_admm.h - Fed-ADMM (FedNPG-ADMM: Lan, Wang, Anderson, Brinton, Aggarwal, NeurIPS 2023), a
   RECONSTRUCTION, to compare with: neither its code nor its text could be had. The update is one
   pass of ADMM a round as in FedNew, with the Fisher matrix in the place of the Hessian; the rest
   is the usual practice of TRPO.

   Agent i keeps lambda_i (0 at first) and a critic; the server keeps theta and y (0 at first).
       M steps or more with theta; advantages A by GAE(0.99, 0.95), to mean 0 and deviation 1
       g_i   = mean_t A_t grad log pi_t
       H_i u = mean_t (grad log pi_t . u) grad log pi_t + damping u
       y_i   = (H_i + rho)^-1 (g_i - lambda_i + rho y), by conjugate gradients from 0; it is sent
   Server: y = mean(y_i), or a resilient rule; agents: lambda_i += rho (y_i - y);
       theta += s y, s = sqrt(2 delta / mean_i y'H_i y)
   The agents tell y'H_i y truly, the adversaries too: only y_i is attacked. */
#ifndef FED_ADMM_H
#define FED_ADMM_H
#include "rivals.h"

typedef struct fed_admm_options {
    rn_net_desc net;
    size_t horizon, steps; /* of an episode at most, M */
    double delta, damping, rho;
    size_t cg;                /* conjugate gradient steps */
    size_t critic[2], passes; /* hidden units; over the steps of a round, by 128 */
    double critic_rate;       /* of Adam */
    agg_rule rule;            /* AGG_MEAN is Fed-ADMM */
} fed_admm_options;

enum { FED_ADMM_BATCH = 128 };

static const double fed_admm_discount = 0.99, fed_admm_decay = 0.95;

/* ---- the critic: a Gaussian of deviation 1 around V(s). Then grad log p(target) is (target - V)
   grad V, and the policies of resnharpg.h have all that is needed. */
typedef struct fed_admm_critic {
    rn_net net;
    rn_policy policy;
    rn_real *theta;
    adam optimiser;
} fed_admm_critic;

PLOT_FN void fed_admm_critic_start(fed_admm_critic *c, size_t obs, const fed_admm_options *o,
                                   rn_random *random) {
    rn_net_desc d = rn_make_net_desc(obs, 1);
    const agg_rng rng = rn_random_rng(random);
    d.hidden[0] = o->critic[0];
    d.hidden[1] = o->critic[1];
    d.gaussian = 1;
    c->policy = rn_make_net_policy(&c->net, &d);
    c->theta = rival_vector(c->policy.dim);
    c->policy.init(c->policy.self, &rng, c->theta);
    adam_start(&c->optimiser, c->policy.dim - 1, o->critic_rate); /* not the log-std, the last */
}

PLOT_FN void fed_admm_critic_stop(fed_admm_critic *c) {
    free(c->theta);
    adam_stop(&c->optimiser);
}

/* V of n observations */
PLOT_FN void fed_admm_values(const fed_admm_critic *c, const rn_real *obs, size_t n, double *value,
                             void *work) {
    const rn_policy *p = &c->policy;
    rn_real v = 0;
    if (p->prepare) p->prepare(p->self, c->theta, work);
    for (size_t t = 0; t < n; t++) {
        p->act(p->self, c->theta, obs + t * p->obs_dim, NULL, &v, work);
        value[t] = (double)v;
    }
}

/* one pass over the steps of e in random order; target: a number for each. scratch: room for a
   batch of observations and targets, and a gradient */
PLOT_FN void fed_admm_fit(fed_admm_critic *c, const episodes *e, const rn_real *target,
                          const agg_rng *rng, size_t *order, rn_real *scratch, void *work) {
    const rn_policy *p = &c->policy;
    const size_t wide = p->obs_dim;
    rn_real *obs = scratch, *y = obs + FED_ADMM_BATCH * wide, *w = y + FED_ADMM_BATCH;
    rn_real *g = w + FED_ADMM_BATCH;
    for (size_t t = e->steps; t > 1; t--) {
        const size_t k = rn_draw_below(rng, t), other = order[k];
        order[k] = order[t - 1];
        order[t - 1] = other;
    }
    for (size_t from = 0; from < e->steps; from += FED_ADMM_BATCH) {
        const size_t n = e->steps - from < FED_ADMM_BATCH ? e->steps - from : FED_ADMM_BATCH;
        for (size_t i = 0; i < n; i++) {
            memcpy(obs + i * wide, e->obs + order[from + i] * wide, wide * sizeof *obs);
            y[i] = target[order[from + i]];
            w[i] = (rn_real)(1 / (double)n);
        }
        memset(g, 0, p->dim * sizeof *g);
        p->grad(p->self, c->theta, n, obs, y, w, g, work);
        adam_step(&c->optimiser, g, c->theta);
    }
}

/* ---- advantages: of one episode of T steps, whose value after the end is `after` */
PLOT_FN void fed_admm_gae(const double *reward, const double *value, size_t T, double after,
                          double *advantage) {
    double sum = 0;
    for (size_t t = T; t-- > 0;) {
        sum = reward[t] + fed_admm_discount * after - value[t] +
              fed_admm_discount * fed_admm_decay * sum;
        advantage[t] = sum;
        after = value[t];
    }
}

/* to mean 0 and deviation 1 */
PLOT_FN void fed_admm_normalise(const double *x, size_t n, rn_real *to) {
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++) mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++) squares += (x[i] - mean) * (x[i] - mean);
    const double deviation = sqrt(squares / (double)n) + 1e-8;
    for (size_t i = 0; i < n; i++) to[i] = (rn_real)((x[i] - mean) / deviation);
}

/* ---- (H + shift) y = b */
typedef struct fed_admm_matrix {
    const field *f;
    episodes *e;
    double shift; /* damping, or damping + rho */
} fed_admm_matrix;

/* h = (H + shift) u */
PLOT_FN void fed_admm_product(const fed_admm_matrix *m, const rn_real *u, rn_real *h) {
    const rn_policy *p = &m->f->policy;
    episodes *e = m->e;
    p->dot(p->self, m->f->theta, u, e->steps, e->obs, e->act, e->c, m->f->work);
    field_gradient(m->f, e, m->f->theta, e->c, 1 / (double)e->steps, h);
    for (size_t i = 0; i < p->dim; i++) h[i] += (rn_real)m->shift * u[i];
}

/* scratch: 3 dim numbers */
PLOT_FN void fed_admm_solve(const fed_admm_matrix *m, const rn_real *b, size_t steps, rn_real *y,
                            rn_real *scratch) {
    const size_t dim = m->f->policy.dim;
    rn_real *r = scratch, *p = r + dim, *h = p + dim;
    double rr = rival_dot(b, b, dim);
    const double enough = 1e-20 * rr;
    memset(y, 0, dim * sizeof *y);
    memcpy(r, b, dim * sizeof *r);
    memcpy(p, b, dim * sizeof *p);
    for (size_t k = 0; k < steps && rr > enough; k++) {
        fed_admm_product(m, p, h);
        const double a = rr / rival_dot(p, h, dim), before = rr;
        for (size_t i = 0; i < dim; i++) {
            y[i] += (rn_real)(a * (double)p[i]);
            r[i] -= (rn_real)(a * (double)h[i]);
        }
        rr = rival_dot(r, r, dim);
        for (size_t i = 0; i < dim; i++) p[i] = r[i] + (rn_real)(rr / before) * p[i];
    }
}

/* ---- the algorithm */
typedef struct fed_admm_agent {
    episodes batch;
    fed_admm_critic critic;
    rn_real *lambda, *y; /* y: its own, not what an adversary sends */
} fed_admm_agent;

typedef struct fed_admm {
    fed_admm_options options;
    fed_admm_agent *agent;
    size_t agents;
    rn_real *y, *b, *scratch; /* scratch: for conjugate gradients, or for the critic */
    size_t *order;
    double *value;
    agg_desc rule;
    void *rule_memory;
    size_t rule_size;
} fed_admm;

PLOT_FN void fed_admm_start_agent(fed_admm *s, field *f, size_t i) {
    fed_admm_agent *a = &s->agent[i];
    const size_t room = s->options.steps + s->options.horizon;
    episodes_start(&a->batch, &f->policy, room, room);
    fed_admm_critic_start(&a->critic, f->policy.obs_dim, &s->options, &f->random[i]);
    a->lambda = rival_vector(2 * f->policy.dim);
    a->y = a->lambda + f->policy.dim;
}

PLOT_FN void fed_admm_start(void *state, field *f, const trial *t, const void *options) {
    fed_admm *s = (fed_admm *)state;
    s->options = *(const fed_admm_options *)options;
    const size_t room = s->options.steps + s->options.horizon;
    field_start(f, t, &s->options.net, room);
    s->agents = t->agents;
    s->agent = (fed_admm_agent *)rival_alloc(t->agents, sizeof *s->agent);
    for (size_t i = 0; i < t->agents; i++) fed_admm_start_agent(s, f, i);
    const size_t dim = f->policy.dim, critic = s->agent->critic.policy.dim,
                 batch = FED_ADMM_BATCH * (f->policy.obs_dim + 2) + critic;
    s->y = rival_vector(2 * dim);
    s->b = s->y + dim;
    s->scratch = rival_vector(batch > 3 * dim ? batch : 3 * dim);
    s->order = (size_t *)rival_alloc(room, sizeof *s->order);
    s->value = (double *)rival_alloc(2 * room, sizeof *s->value);
    s->rule = agg_make_desc(s->options.rule, t->agents, dim, t->f);
    s->rule_size = agg_scratch_size(&s->rule);
    s->rule_memory = rival_alloc(s->rule_size, 1);
    field_work(f, rn_policy_work_size(&f->policy, room) + /* they take turns */
                      rn_policy_work_size(&s->agent->critic.policy, FED_ADMM_BATCH));
}

PLOT_FN void fed_admm_stop(void *state) {
    fed_admm *s = (fed_admm *)state;
    for (size_t i = 0; i < s->agents; i++) {
        episodes_stop(&s->agent[i].batch);
        fed_admm_critic_stop(&s->agent[i].critic);
        free(s->agent[i].lambda);
    }
    free(s->agent);
    free(s->y);
    free(s->scratch);
    free(s->order);
    free(s->value);
    free(s->rule_memory);
}

/* batch.weight: advantages; batch.more: what the critic is to learn, advantage + value */
PLOT_FN void fed_admm_advantages(fed_admm *s, const field *f, size_t i) {
    const fed_admm_critic *c = &s->agent[i].critic;
    episodes *e = &s->agent[i].batch;
    fed_admm_values(c, e->obs, e->steps, s->value, f->work);
    for (size_t k = 0; k < e->count; k++) {
        const size_t from = episode_begin(e, k);
        double after = 0;
        if (!e->fell[k]) fed_admm_values(c, e->last + k * c->policy.obs_dim, 1, &after, f->work);
        fed_admm_gae(e->reward + from, s->value + from, e->end[k] - from, after, e->value + from);
    }
    for (size_t t = 0; t < e->steps; t++) e->more[t] = (rn_real)(e->value[t] + s->value[t]);
    fed_admm_normalise(e->value, e->steps, e->weight);
}

PLOT_FN void fed_admm_teach(fed_admm *s, field *f, size_t i) {
    const agg_rng rng = rn_random_rng(&f->random[i]);
    episodes *e = &s->agent[i].batch;
    for (size_t t = 0; t < e->steps; t++) s->order[t] = t;
    for (size_t k = 0; k < s->options.passes; k++)
        fed_admm_fit(&s->agent[i].critic, e, e->more, &rng, s->order, s->scratch, f->work);
}

/* y_i */
PLOT_FN void fed_admm_agent_round(fed_admm *s, field *f, size_t i) {
    const fed_admm_options *o = &s->options;
    fed_admm_agent *a = &s->agent[i];
    episodes *e = &a->batch;
    const size_t dim = f->policy.dim;
    const fed_admm_matrix m = {f, e, o->damping + o->rho};
    episodes_clear(e);
    while (e->steps < o->steps) field_play(f, e, i, o->horizon);
    fed_admm_advantages(s, f, i);
    field_gradient(f, e, f->theta, e->weight, 1 / (double)e->steps, s->b);
    for (size_t k = 0; k < dim; k++) s->b[k] += (rn_real)o->rho * s->y[k] - a->lambda[k];
    fed_admm_solve(&m, s->b, o->cg, a->y, s->scratch);
    memcpy(f->row[i], a->y, dim * sizeof *a->y);
    fed_admm_teach(s, f, i);
}

/* mean over agents of y'H_i y */
PLOT_FN double fed_admm_curvature(fed_admm *s, const field *f) {
    double sum = 0;
    for (size_t i = 0; i < s->agents; i++) {
        const fed_admm_matrix m = {f, &s->agent[i].batch, s->options.damping};
        fed_admm_product(&m, s->y, s->b);
        sum += rival_dot(s->y, s->b, f->policy.dim);
    }
    return sum / (double)s->agents;
}

PLOT_FN void fed_admm_round(void *state, field *f) {
    fed_admm *s = (fed_admm *)state;
    const size_t dim = f->policy.dim;
    size_t played = 0;
    for (size_t i = 0; i < s->agents; i++) fed_admm_agent_round(s, f, i);
    for (size_t i = 0; i < s->agents; i++) played += s->agent[i].batch.count;
    f->spent += (double)played / (double)s->agents;
    field_attack(f);
    if (agg_aggregate(&s->rule, (const rn_real *const *)f->row, s->y, s->rule_memory, s->rule_size,
                      NULL) != AGG_OK)
        return;
    for (size_t i = 0; i < s->agents; i++)
        for (size_t k = 0; k < dim; k++)
            s->agent[i].lambda[k] += (rn_real)s->options.rho * (s->agent[i].y[k] - s->y[k]);
    const double curvature = fed_admm_curvature(s, f);
    const double step = curvature > 0 ? sqrt(2 * s->options.delta / curvature) : 0;
    for (size_t k = 0; k < dim; k++) f->theta[k] += (rn_real)step * s->y[k];
}

static const rival fed_admm_rival = {sizeof(fed_admm), fed_admm_start, fed_admm_round,
                                     fed_admm_stop};
#endif /* FED_ADMM_H */
