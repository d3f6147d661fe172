/* byz_pg.h - Byz-PG (Jordan et al. 2024, the form with a server), written from its definition, to
   compare with.

   Agent i keeps v_i. All agents together, with probability p and in round 1:
       N episodes, v_i = g(theta_t)
   else:
       B episodes, v_i += g(theta_t) - w g(theta_{t-1}), w = p(episode; theta_{t-1}) /
                                                             p(episode; theta_t)
   Server: geometric median of the rows by eight steps of Weiszfeld, then Adam. g is the mean over
   episodes of sum_t Psi_t grad log pi_t (GPOMDP). */
#ifndef BYZ_PG_H
#define BYZ_PG_H
#include "rivals.h"

typedef struct byz_pg_options {
    rn_net_desc net;
    size_t horizon, N, B;
    double p, discount, rate;
} byz_pg_options;

enum { BYZ_PG_STEPS = 8 }; /* of Weiszfeld */

/* z = 0, then eight times z = sum_i x_i / max(||x_i - z||, 0.1), by the sum of these weights */
PLOT_FN void byz_pg_median(const rn_real *const *row, size_t n, size_t dim, rn_real *z,
                           double *weight) {
    for (size_t k = 0; k < dim; k++) z[k] = 0;
    for (int step = 0; step < BYZ_PG_STEPS; step++) {
        double total = 0;
        for (size_t i = 0; i < n; i++) {
            weight[i] = 1 / fmax(rival_distance(row[i], z, dim), 0.1);
            total += weight[i];
        }
        for (size_t k = 0; k < dim; k++) {
            double sum = 0;
            for (size_t i = 0; i < n; i++) sum += weight[i] * (double)row[i][k];
            z[k] = (rn_real)(sum / total);
        }
    }
}

/* e->weight = Psi_t */
PLOT_FN void byz_pg_weights(episodes *e, double discount) {
    rn_method m;
    memset(&m, 0, sizeof m);
    m.discount = discount;
    for (size_t k = 0; k < e->count; k++) {
        const size_t from = episode_begin(e, k), T = e->end[k] - from;
        rn_compute_returns_to_go(&m, T, e->reward + from, e->value + from);
        for (size_t t = from; t < e->end[k]; t++) e->weight[t] = (rn_real)e->value[t];
    }
}

/* e->more = w Psi_t, with one w for each episode: how much likelier theta_old makes it. At most
   e^50, so that it is finite. */
PLOT_FN void byz_pg_ratios(field *f, episodes *e, const rn_real *theta, const rn_real *theta_old) {
    field_log_ratio(f, e, theta, theta_old);
    for (size_t k = 0; k < e->count; k++) {
        double sum = 0;
        for (size_t t = episode_begin(e, k); t < e->end[k]; t++) sum += e->value[t];
        for (size_t t = episode_begin(e, k); t < e->end[k]; t++)
            e->more[t] = (rn_real)(exp(fmin(sum, 50)) * (double)e->weight[t]);
    }
}

/* ---- the algorithm */
typedef struct byz_pg {
    byz_pg_options options;
    episodes batch;
    adam optimiser;
    rn_real *theta_old, *z, *g, *v; /* v: agents rows of dim */
    double *weight;
    size_t rounds;
} byz_pg;

PLOT_FN void byz_pg_start(void *state, field *f, const trial *t, const void *options) {
    byz_pg *s = (byz_pg *)state;
    s->options = *(const byz_pg_options *)options;
    const size_t most = s->options.N > s->options.B ? s->options.N : s->options.B;
    field_start(f, t, &s->options.net, most * s->options.horizon);
    field_spread(f);
    episodes_start(&s->batch, &f->policy, most, most * s->options.horizon);
    adam_start(&s->optimiser, f->policy.dim, s->options.rate);
    s->theta_old = rival_vector((3 + t->agents) * f->policy.dim);
    s->z = s->theta_old + f->policy.dim;
    s->g = s->z + f->policy.dim;
    s->v = s->g + f->policy.dim;
    s->weight = (double *)rival_alloc(t->agents, sizeof *s->weight);
}

PLOT_FN void byz_pg_stop(void *state) {
    byz_pg *s = (byz_pg *)state;
    episodes_stop(&s->batch);
    adam_stop(&s->optimiser);
    free(s->theta_old);
    free(s->weight);
}

PLOT_FN void byz_pg_agent(byz_pg *s, field *f, size_t i, int afresh) {
    const size_t count = afresh ? s->options.N : s->options.B, dim = f->policy.dim;
    episodes *e = &s->batch;
    rn_real *v = s->v + i * dim;
    episodes_clear(e);
    while (e->count < count) field_play(f, e, i, s->options.horizon);
    byz_pg_weights(e, s->options.discount);
    field_gradient(f, e, f->theta, e->weight, 1 / (double)count, f->row[i]);
    if (!afresh) {
        byz_pg_ratios(f, e, f->theta, s->theta_old);
        field_gradient(f, e, s->theta_old, e->more, 1 / (double)count, s->g);
        for (size_t k = 0; k < dim; k++) f->row[i][k] += v[k] - s->g[k];
    }
    memcpy(v, f->row[i], dim * sizeof *v);
}

PLOT_FN void byz_pg_round(void *state, field *f) {
    byz_pg *s = (byz_pg *)state;
    const agg_rng rng = rn_random_rng(&f->random[f->agents]);
    const int afresh = rn_draw_uniform(&rng) < s->options.p || s->rounds == 0;
    for (size_t i = 0; i < f->agents; i++) byz_pg_agent(s, f, i, afresh);
    field_attack(f);
    byz_pg_median((const rn_real *const *)f->row, f->agents, f->policy.dim, s->z, s->weight);
    memcpy(s->theta_old, f->theta, f->policy.dim * sizeof *f->theta);
    adam_step(&s->optimiser, s->z, f->theta);
    s->rounds++;
    f->spent += (double)(afresh ? s->options.N : s->options.B);
}

static const rival byz_pg_rival = {sizeof(byz_pg), byz_pg_start, byz_pg_round, byz_pg_stop};
#endif /* BYZ_PG_H */
