/* rivals.h - what the algorithms of others share that figure3 and baselines train beside
   Res-NHARPG: agents that play and send rows, attacks on what they send, likelihood ratios, Adam.

   An algorithm is a table of three functions. One `round` moves field.theta and adds what an agent
   played to field.spent:

       static const rival mine = {sizeof(state), start, round, stop};
       static void run_mine(trial *t) { rival_run(t, &mine, &options); }
       t.run = run_mine;                                          // then trials_run(&t, ..)

   Only public functions of the two headers are called. */
#ifndef RIVALS_H
#define RIVALS_H
#include "trials.h"

/* memory or the end of the program */
PLOT_FN void *rival_alloc(size_t count, size_t size) {
    void *p = calloc(count ? count : 1, size);
    if (!p) exit((fputs("out of memory\n", stderr), 1));
    return p;
}

PLOT_FN rn_real *rival_vector(size_t n) { return (rn_real *)rival_alloc(n, sizeof(rn_real)); }

PLOT_FN double rival_dot(const rn_real *x, const rn_real *y, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)y[i];
    return sum;
}

PLOT_FN double rival_distance(const rn_real *x, const rn_real *y, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        const double d = (double)x[i] - (double)y[i];
        sum += d * d;
    }
    return sqrt(sum);
}

/* ---- Adam (Kingma, Ba 2015), upwards: theta += rate m^ / (sqrt(v^) + 1e-8) */
typedef struct adam {
    size_t dim, steps;
    double rate;
    double *m, *v;
} adam;

PLOT_FN void adam_start(adam *a, size_t dim, double rate) {
    a->dim = dim;
    a->steps = 0;
    a->rate = rate;
    a->m = (double *)rival_alloc(2 * dim, sizeof *a->m);
    a->v = a->m + dim;
}

PLOT_FN void adam_stop(adam *a) { free(a->m); }

PLOT_FN void adam_step(adam *a, const rn_real *g, rn_real *theta) {
    const double t = (double)++a->steps, c1 = 1 - pow(0.9, t), c2 = 1 - pow(0.999, t);
    for (size_t i = 0; i < a->dim; i++) {
        const double x = (double)g[i];
        a->m[i] = 0.9 * a->m[i] + 0.1 * x;
        a->v[i] = 0.999 * a->v[i] + 0.001 * x * x;
        theta[i] += (rn_real)(a->rate * (a->m[i] / c1) / (sqrt(a->v[i] / c2) + 1e-8));
    }
}

/* ---- episodes one after the other: row t of obs and act is step t of them all */
typedef struct episodes {
    size_t count, steps;        /* so far */
    size_t most, room;          /* there is memory for */
    size_t *end;                /* episode k: steps end[k-1] .. end[k]-1 */
    int *fell;                  /* 1: episode k ended by itself, 0: it was cut */
    rn_real *obs, *act;         /* obs has a row more, see last */
    rn_real *last;              /* what is seen after the last step of episode k */
    double *reward, *value;     /* value: for the algorithm */
    rn_real *weight, *c, *more; /* numbers per step, for policy.grad and policy.dot */
} episodes;

PLOT_FN void episodes_start(episodes *e, const rn_policy *p, size_t most, size_t room) {
    memset(e, 0, sizeof *e);
    e->most = most;
    e->room = room;
    e->end = (size_t *)rival_alloc(most, sizeof *e->end);
    e->fell = (int *)rival_alloc(most, sizeof *e->fell);
    e->obs = rival_vector((room + 1) * p->obs_dim);
    e->act = rival_vector(room * p->act_dim);
    e->last = rival_vector(most * p->obs_dim);
    e->reward = (double *)rival_alloc(2 * room, sizeof *e->reward);
    e->value = e->reward + room;
    e->weight = rival_vector(3 * room);
    e->c = e->weight + room;
    e->more = e->c + room;
}

PLOT_FN void episodes_stop(episodes *e) {
    free(e->end);
    free(e->fell);
    free(e->obs);
    free(e->act);
    free(e->last);
    free(e->reward);
    free(e->weight);
}

PLOT_FN void episodes_clear(episodes *e) { e->count = e->steps = 0; }

PLOT_FN size_t episode_begin(const episodes *e, size_t k) { return k ? e->end[k - 1] : 0; }

/* ---- a run: N agents and a server, each with an environment and random numbers of its own */
typedef struct field {
    const trial *trial;
    size_t agents, first_adversary; /* those from the latter on are Byzantine */
    rn_net net;
    rn_policy policy;
    rn_env *env; /* agents, then the server's */
    char *states;
    rn_random *random, dice; /* dice: for attacks */
    rn_real *theta;          /* dim numbers; the next three: agents rows of dim */
    rn_real **row;           /* what an agent found, then what it sends */
    rn_real *rows, *tmp, *u; /* tmp, u: dim numbers */
    void *memory, *work;     /* of the policy; 64 bytes aligned */
    double spent, steps;     /* trajectories per agent; environment steps of all */
} field;

/* memory for the policy, at least `size` bytes */
PLOT_FN void field_work(field *f, size_t size) {
    free(f->memory);
    f->memory = rival_alloc(size + 64, 1);
    f->work = (char *)f->memory + (64 - (uintptr_t)f->memory % 64);
}

/* steps: the most that are given to policy.grad at once */
PLOT_FN void field_start(field *f, const trial *t, const rn_net_desc *net, size_t steps) {
    const size_t n = t->agents;
    rn_random start = rn_make_random(t->seed, (uint32_t)n + 1);
    const agg_rng rng = rn_random_rng(&start);
    memset(f, 0, sizeof *f);
    f->trial = t;
    f->agents = n;
    f->first_adversary = n - t->adversaries;
    f->policy = rn_make_net_policy(&f->net, net);
    f->states = (char *)rival_alloc(n + 1, t->task->state_size);
    f->env = (rn_env *)rival_alloc(n + 1, sizeof *f->env);
    f->random = (rn_random *)rival_alloc(n + 1, sizeof *f->random);
    f->row = (rn_real **)rival_alloc(n, sizeof *f->row);
    f->rows = rival_vector((n + 3) * f->policy.dim);
    f->theta = f->rows + n * f->policy.dim;
    f->tmp = f->theta + f->policy.dim;
    f->u = f->tmp + f->policy.dim;
    for (size_t i = 0; i <= n; i++) {
        f->env[i] = trial_env(t, f->states, i);
        f->random[i] = rn_make_random(t->seed, (uint32_t)i);
        if (i < n) f->row[i] = f->rows + i * f->policy.dim;
    }
    f->dice = rn_make_random(t->seed, (uint32_t)n + 2);
    f->policy.init(f->policy.self, &rng, f->theta);
    field_work(f, rn_policy_work_size(&f->policy, steps));
}

/* theta as FedPG-BR and Byz-PG start it: each number uniform within 1/sqrt(n), n: inputs of a layer
   for its weights, outputs for its biases */
PLOT_FN void field_spread(field *f) {
    rn_random random = rn_make_random(f->trial->seed, (uint32_t)f->agents + 1);
    const agg_rng rng = rn_random_rng(&random);
    for (size_t l = 0; l < f->net.layers; l++) {
        const size_t in = f->net.in[l], out = f->net.out[l], weights = in * out;
        const size_t end = l + 1 < f->net.layers ? f->net.offset[l + 1] : f->net.dim;
        for (size_t i = f->net.offset[l]; i < end; i++) {
            const double n = (double)(i < f->net.offset[l] + weights ? in : out);
            f->theta[i] = (rn_real)((2 * rn_draw_uniform(&rng) - 1) / sqrt(n));
        }
    }
}

PLOT_FN void field_stop(field *f) {
    free(f->states);
    free(f->env);
    free(f->random);
    free(f->row);
    free(f->rows);
    free(f->memory);
}

PLOT_FN int field_attacks(const field *f, size_t player, rn_attack_kind kind) {
    return player >= f->first_adversary && player < f->agents &&
           f->trial->attack->desc.kind == kind;
}

PLOT_FN void field_random_action(const rn_env *env, const agg_rng *rng, rn_real *act) {
    const int unit = env->act_low == 0 && env->act_high == 0;
    const double lo = unit ? -1 : env->act_low, hi = unit ? 1 : env->act_high;
    if (env->actions)
        act[0] = (rn_real)rn_draw_below(rng, env->actions);
    else
        for (size_t i = 0; i < env->act_dim; i++)
            act[i] = (rn_real)(lo + (hi - lo) * rn_draw_uniform(rng));
}

/* one more episode with f->theta, of at most `horizon` steps; player == agents: the server */
PLOT_FN void field_play(field *f, episodes *e, size_t player, size_t horizon) {
    const rn_env *env = &f->env[player];
    const agg_rng rng = rn_random_rng(&f->random[player]);
    const rn_policy *p = &f->policy;
    const int wild = field_attacks(f, player, RN_ATTACK_RANDOM_ACTION);
    const size_t from = e->steps, to = from + horizon;
    rn_step_result r = RN_RUNNING;
    if (e->count == e->most || to > e->room) exit((fputs("no room for an episode\n", stderr), 1));
    env->reset(env->self, &rng, e->obs + from * p->obs_dim);
    if (p->prepare) p->prepare(p->self, f->theta, f->work);
    for (; e->steps < to && r == RN_RUNNING; e->steps++) {
        rn_real *obs = e->obs + e->steps * p->obs_dim, *act = e->act + e->steps * p->act_dim;
        if (wild)
            field_random_action(env, &rng, act);
        else
            p->act(p->self, f->theta, obs, &rng, act, f->work);
        r = env->step(env->self, act, &rng, obs + p->obs_dim, &e->reward[e->steps]);
    }
    memcpy(e->last + e->count * p->obs_dim, e->obs + e->steps * p->obs_dim,
           p->obs_dim * sizeof *e->last);
    e->fell[e->count] = r == RN_TERMINATED;
    e->end[e->count++] = e->steps;
    f->steps += (double)(e->steps - from);
}

/* g = scale sum_t weight_t grad log pi(theta)_t over all steps of e */
PLOT_FN void field_gradient(const field *f, const episodes *e, const rn_real *theta,
                            const rn_real *weight, double scale, rn_real *g) {
    const rn_policy *p = &f->policy;
    memset(g, 0, p->dim * sizeof *g);
    p->grad(p->self, theta, e->steps, e->obs, e->act, weight, g, f->work);
    for (size_t i = 0; i < p->dim; i++) g[i] = (rn_real)(scale * (double)g[i]);
}

/* e->value[t] = log pi(to)_t - log pi(from)_t: the integral of grad log pi . (to - from) on the
   way, by Gauss and Legendre with four points. Exact to rounding for small smooth steps; where a
   ReLU switches on the way it is off by a small part of that step's change. */
PLOT_FN void field_log_ratio(const field *f, episodes *e, const rn_real *from, const rn_real *to) {
    static const double at[4] = {0.069431844202973712, 0.33000947820757187, 0.66999052179242813,
                                 0.93056815579702629};
    static const double weight[4] = {0.17392742256872693, 0.32607257743127307, 0.32607257743127307,
                                     0.17392742256872693};
    const rn_policy *p = &f->policy;
    for (size_t i = 0; i < p->dim; i++) f->u[i] = to[i] - from[i];
    for (size_t t = 0; t < e->steps; t++) e->value[t] = 0;
    for (int k = 0; k < 4; k++) {
        for (size_t i = 0; i < p->dim; i++) f->tmp[i] = from[i] + (rn_real)at[k] * f->u[i];
        p->dot(p->self, f->tmp, f->u, e->steps, e->obs, e->act, e->c, f->work);
        for (size_t t = 0; t < e->steps; t++) e->value[t] += weight[k] * (double)e->c[t];
    }
}

/* rows become what is sent: vector attacks of aggregators.h on the adversaries' rows */
PLOT_FN void field_attack(field *f) {
    const size_t dim = f->policy.dim;
    agg_attack_desc a = f->trial->attack->desc.vector;
    a.n = f->agents;
    a.f = f->agents - f->first_adversary;
    a.rng = rn_random_rng(&f->dice);
    for (size_t i = f->first_adversary; i < f->agents; i++) {
        if (!field_attacks(f, i, RN_ATTACK_VECTOR)) continue;
        if (agg_attack(&a, (const rn_real *const *)f->row, f->first_adversary, dim, f->row[i],
                       f->tmp) == AGG_OK)
            memcpy(f->row[i], f->tmp, dim * sizeof *f->tmp);
    }
}

/* ---- an algorithm, and a trial of it */
typedef struct rival {
    size_t size; /* of its state */
    void (*start)(void *state, field *f, const trial *t, const void *options);
    void (*round)(void *state, field *f);
    void (*stop)(void *state);
} rival;

PLOT_FN int rival_finite(const rn_real *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!isfinite((double)x[i])) return 0;
    return 1;
}

/* The score at x is that of the last theta made from at most x trajectories per agent. A theta that
   is not finite ends the run: the score stays what it was. */
PLOT_FN void rival_run(trial *t, const rival *r, const void *options) {
    field f;
    void *state = rival_alloc(1, r->size);
    char *body = (char *)rival_alloc(1, t->task->state_size);
    rn_env exam = t->task->env(t->task, body);
    double steps = 0;
    r->start(state, &f, t, options);
    rn_real *shown = rival_vector(f.policy.dim);
    for (size_t p = 0; p < t->points; p++) {
        while (f.spent <= t->x[p]) {
            memcpy(shown, f.theta, f.policy.dim * sizeof *shown);
            steps = f.steps;
            r->round(state, &f);
            if (!rival_finite(f.theta, f.policy.dim)) f.spent = HUGE_VAL;
        }
        t->score[p] = trial_evaluate(t, &f.policy, &exam, shown, p);
        t->steps[p] = steps;
    }
    r->stop(state);
    field_stop(&f);
    free(shown);
    free(body);
    free(state);
}
#endif /* RIVALS_H */
