/* fedpg_br.h - FedPG-BR (Fan et al., NeurIPS 2021), written from its definition, to compare with.

   A round at theta_0 = theta, K agents and a server that plays too:
       B ~ U{least .. most}; every agent sends the gradient g(theta_0) of B episodes
       Good = filter(rows), mu = mean(Good)
       N ~ Geometric(b / (B+b)) on 1, 2, ..; N times the server plays b episodes with theta_n:
           d = g(theta_n) - g_IS(theta_0) + mu, one step of Adam along d
   g is the mean over all steps of G_t grad log pi_t; G_t: return from t on, discounted from t,
   whitened within its episode. g_IS: the same episodes, each step times exp(log pi(theta_0) -
   log pi(theta_n)); if the mean of these is outside 0.995 .. 1.005 the batch is thrown away and the
   round is over. If the filter leaves nobody, d = g(theta_n). */
#ifndef FEDPG_BR_H
#define FEDPG_BR_H
#include "rivals.h"

typedef struct fedpg_br_options {
    rn_net_desc net;
    size_t horizon, least, most, b;
    double discount, rate, sigma, delta, alpha;
} fedpg_br_options;

/* ---- the filter */
/* how many of n rows are within `radius` of x; itself counts. in: n flags, or NULL */
PLOT_FN size_t fedpg_br_around(const rn_real *const *row, size_t n, size_t dim, const rn_real *x,
                               double radius, int *in) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const int is = rival_distance(row[i], x, dim) <= radius;
        if (in) in[i] = is;
        count += (size_t)is;
    }
    return count;
}

PLOT_FN void fedpg_br_mean(const rn_real *const *row, size_t n, size_t dim, const int *in,
                           rn_real *mean) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) count += (size_t)in[i];
    for (size_t k = 0; k < dim; k++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            if (in[i]) sum += (double)row[i][k];
        mean[k] = (rn_real)(sum / (double)count);
    }
}

/* K' = rows with more than n/2 around them; Med = the one of them nearest to their mean; Good =
   rows around Med. Returns how many. mean: dim numbers of scratch */
PLOT_FN size_t fedpg_br_pass(const rn_real *const *row, size_t n, size_t dim, double radius,
                             int *good, rn_real *mean) {
    size_t members = 0, med = n;
    double least = 0;
    for (size_t i = 0; i < n; i++) {
        good[i] = 2 * fedpg_br_around(row, n, dim, row[i], radius, NULL) > n;
        members += (size_t)good[i];
    }
    if (!members) return 0;
    fedpg_br_mean(row, n, dim, good, mean);
    for (size_t i = 0; i < n; i++) {
        const double d = rival_distance(row[i], mean, dim);
        if (!good[i] || (med < n && d >= least)) continue;
        med = i;
        least = d;
    }
    return fedpg_br_around(row, n, dim, row[med], radius, good);
}

PLOT_FN double fedpg_br_radius(const fedpg_br_options *o, size_t n, size_t B) {
    return 2 * o->sigma * sqrt(2 * log(2 * (double)n / o->delta) / (double)B);
}

/* flags of Good, and how many */
PLOT_FN size_t fedpg_br_filter(const fedpg_br_options *o, const rn_real *const *row, size_t n,
                               size_t dim, size_t B, int *good, rn_real *scratch) {
    const size_t count = fedpg_br_pass(row, n, dim, fedpg_br_radius(o, n, B), good, scratch);
    if (count > 0 && (double)count >= (1 - o->alpha) * (double)n) return count;
    return fedpg_br_pass(row, n, dim, 2 * o->sigma, good, scratch);
}

/* ---- gradients */
/* weight[t]: the returns of one episode from t on, mean 0 and deviation 1 */
PLOT_FN void fedpg_br_whiten(const double *reward, size_t T, double discount, rn_real *weight,
                             double *G) {
    double after = 0, mean = 0, squares = 0;
    for (size_t t = T; t-- > 0;) {
        after = G[t] = reward[t] + discount * after;
        mean += after / (double)T;
    }
    for (size_t t = 0; t < T; t++) squares += (G[t] - mean) * (G[t] - mean);
    const double deviation = T > 1 ? sqrt(squares / (double)(T - 1)) : 0;
    for (size_t t = 0; t < T; t++)
        weight[t] = deviation > 0 ? (rn_real)((G[t] - mean) / deviation) : 0;
}

PLOT_FN void fedpg_br_weights(episodes *e, double discount) {
    for (size_t k = 0; k < e->count; k++) {
        const size_t from = episode_begin(e, k);
        fedpg_br_whiten(e->reward + from, e->end[k] - from, discount, e->weight + from,
                        e->value + from);
    }
}

/* e->more = weight_t pi(theta_0)_t / pi(theta_n)_t; returns the mean of the ratios */
PLOT_FN double fedpg_br_ratios(field *f, episodes *e, const rn_real *theta_n,
                               const rn_real *theta_0) {
    double sum = 0;
    field_log_ratio(f, e, theta_n, theta_0);
    for (size_t t = 0; t < e->steps; t++) {
        const double ratio = exp(e->value[t]);
        e->more[t] = (rn_real)((double)e->weight[t] * ratio);
        sum += ratio;
    }
    return sum / (double)e->steps;
}

/* ---- the algorithm */
typedef struct fedpg_br {
    fedpg_br_options options;
    episodes batch;
    adam optimiser;
    rn_real *theta_0, *mu, *g, *g_0;
    int *good;
    size_t left_alone; /* rounds in which the filter left nobody */
} fedpg_br;

PLOT_FN void fedpg_br_start(void *state, field *f, const trial *t, const void *options) {
    fedpg_br *s = (fedpg_br *)state;
    s->options = *(const fedpg_br_options *)options;
    const size_t most = s->options.most > s->options.b ? s->options.most : s->options.b;
    const size_t room = most * s->options.horizon;
    field_start(f, t, &s->options.net, room);
    field_spread(f);
    episodes_start(&s->batch, &f->policy, most, room);
    adam_start(&s->optimiser, f->policy.dim, s->options.rate);
    s->theta_0 = rival_vector(4 * f->policy.dim);
    s->mu = s->theta_0 + f->policy.dim;
    s->g = s->mu + f->policy.dim;
    s->g_0 = s->g + f->policy.dim;
    s->good = (int *)rival_alloc(t->agents, sizeof *s->good);
}

PLOT_FN void fedpg_br_stop(void *state) {
    fedpg_br *s = (fedpg_br *)state;
    episodes_stop(&s->batch);
    adam_stop(&s->optimiser);
    free(s->theta_0);
    free(s->good);
}

/* s->batch: `count` episodes with f->theta; g: their gradient */
PLOT_FN void fedpg_br_gradient(fedpg_br *s, field *f, size_t player, size_t count, rn_real *g) {
    episodes *e = &s->batch;
    episodes_clear(e);
    while (e->count < count) field_play(f, e, player, s->options.horizon);
    fedpg_br_weights(e, s->options.discount);
    field_gradient(f, e, f->theta, e->weight, 1 / (double)e->steps, g);
}

/* one step of the server, along g(theta_n) - g_IS(theta_0) + mu if there is a mu. 0: the batch was
   thrown away */
PLOT_FN int fedpg_br_step(fedpg_br *s, field *f, int with_mu) {
    fedpg_br_gradient(s, f, f->agents, s->options.b, s->g);
    if (with_mu) {
        const double ratio = fedpg_br_ratios(f, &s->batch, f->theta, s->theta_0);
        if (!(ratio >= 0.995 && ratio <= 1.005)) return 0;
        field_gradient(f, &s->batch, s->theta_0, s->batch.more, 1 / (double)s->batch.steps, s->g_0);
        for (size_t i = 0; i < f->policy.dim; i++) s->g[i] += s->mu[i] - s->g_0[i];
    }
    adam_step(&s->optimiser, s->g, f->theta);
    return 1;
}

/* 1, 2, ..; k with probability p (1-p)^(k-1) */
PLOT_FN size_t fedpg_br_geometric(const agg_rng *rng, double p) {
    return 1 + (size_t)(log(1 - rn_draw_uniform(rng)) / log(1 - p));
}

PLOT_FN void fedpg_br_round(void *state, field *f) {
    fedpg_br *s = (fedpg_br *)state;
    const fedpg_br_options *o = &s->options;
    const size_t K = f->agents, dim = f->policy.dim;
    const agg_rng rng = rn_random_rng(&f->random[K]);
    const size_t B = o->least + rn_draw_below(&rng, o->most - o->least + 1);
    size_t done = 0;
    for (size_t i = 0; i < K; i++) fedpg_br_gradient(s, f, i, B, f->row[i]);
    field_attack(f);
    const rn_real *const *rows = (const rn_real *const *)f->row;
    const int found = fedpg_br_filter(o, rows, K, dim, B, s->good, s->mu) > 0;
    if (found) fedpg_br_mean(rows, K, dim, s->good, s->mu);
    s->left_alone += (size_t)!found;
    memcpy(s->theta_0, f->theta, dim * sizeof *s->theta_0);
    const size_t N = fedpg_br_geometric(&rng, (double)o->b / (double)(B + o->b));
    while (done < N && fedpg_br_step(s, f, found)) done++;
    f->spent += floor((double)(B * K + o->b * done) / (double)(K + 1) + 0.5);
}

static const rival fedpg_br_rival = {sizeof(fedpg_br), fedpg_br_start, fedpg_br_round,
                                     fedpg_br_stop};
#endif /* FEDPG_BR_H */
