/* progress.h - the diary of a run: a CSV with a line per round, and the figure of it. What people
   look at first when learning does not go as it should.

       static progress_log log;                         // it is large
       if (progress_open(&log, "build/run", &desc, &net) != 0) return 1; // net NULL: no rn_net
       rn_trainer_create(&trainer, &desc);
       log.server = rn_trainer_server(trainer);         // for the cosine; optional
       log.env = cartpole_env(&one_more_pole);          // for the entropy; optional
       ... rounds ...
       progress_close(&log, "My task");                 // 0, or -1 if it cannot

   The first sets desc.progress and begins build/run.csv, the last ends it and draws build/run.svg.
   Columns: round, trajectories, env_steps, return, length, norm (||d||), cosine (of d to the last
   d), gamma, eta, log_std (mean; Gaussian nets with free log-stds), entropy (of softmax nets, in
   nats; mean over the states that the policy comes to in log.env, log(actions) at most), dropped,
   s0 .. (suspicion of agent 0 .., see agg_report). What does not exist is left empty. Training does
   not notice any of it: theta keeps its bits. */
#ifndef PROGRESS_H
#define PROGRESS_H
#include "resnharpg.h"
#include "plot.h"
#include <stdlib.h>

enum { PROGRESS_MOST = 4096, PROGRESS_LINES = 8 };   /* rounds that are drawn; curves */
enum { PROGRESS_WIDTH = 256, PROGRESS_STEPS = 100 }; /* entropy: of a layer at most; states */
enum {
    PROGRESS_RETURN,
    PROGRESS_LENGTH,
    PROGRESS_NORM,
    PROGRESS_COSINE,
    PROGRESS_GAMMA,
    PROGRESS_ETA,
    PROGRESS_LOG_STD,
    PROGRESS_ENTROPY
};

typedef struct progress_log {
    FILE *out;
    char name[256];
    const rn_net *net;
    rn_server *server;
    rn_env env;
    rn_random random;
    rn_real *last; /* d of the round before */
    size_t agents, n;
    double *suspicion; /* agents rows of PROGRESS_MOST */
    double x[PROGRESS_MOST], y[PROGRESS_LINES][PROGRESS_MOST];
} progress_log;

PLOT_FN void progress_write(void *self, const rn_progress *p);

PLOT_FN void progress_path(const progress_log *log, const char *ending, char path[264]) {
    snprintf(path, 264, "%s.%s", log->name, ending);
}

/* net: the policy's, or NULL. 0, or -1 if it cannot */
PLOT_FN int progress_open(progress_log *log, const char *name, rn_trainer_desc *desc,
                          const rn_net *net) {
    char path[264];
    memset(log, 0, sizeof *log);
    if (strlen(name) >= sizeof log->name) return -1; /* cut off it would be another file's */
    snprintf(log->name, sizeof log->name, "%s", name);
    progress_path(log, "csv", path);
    log->agents = desc->agents;
    log->net = net;
    log->random = rn_make_random(1, 0);
    log->suspicion = (double *)calloc(log->agents * PROGRESS_MOST, sizeof *log->suspicion);
    log->out = log->suspicion ? fopen(path, "w") : NULL;
    if (!log->out) {
        free(log->suspicion);
        return -1;
    }
    desc->progress = progress_write;
    desc->progress_self = log;
    fprintf(log->out, "round,trajectories,env_steps,return,length,norm,cosine,gamma,eta,log_std,"
                      "entropy,dropped");
    for (size_t i = 0; i < log->agents; i++) fprintf(log->out, ",s%d", (int)i);
    fprintf(log->out, "\n");
    return 0;
}

/* of d to the last d; NaN if there is none */
PLOT_FN double progress_cosine(progress_log *log, size_t dim) {
    const rn_real *d = log->server ? rn_server_direction(log->server) : NULL;
    double dot = 0, a = 0, b = 0;
    if (!d) return (double)NAN;
    if (!log->last) log->last = (rn_real *)calloc(dim, sizeof *d);
    for (size_t i = 0; i < dim && log->last; i++) {
        dot += (double)d[i] * (double)log->last[i];
        a += (double)d[i] * (double)d[i];
        b += (double)log->last[i] * (double)log->last[i];
    }
    if (log->last) memcpy(log->last, d, dim * sizeof *d);
    return a > 0 && b > 0 ? dot / sqrt(a * b) : (double)NAN;
}

PLOT_FN double progress_log_std(const progress_log *log, const rn_progress *p) {
    const rn_net_desc *d = log->net ? &log->net->desc : NULL;
    double sum = 0;
    if (!d || !d->gaussian || d->state_std) return (double)NAN;
    for (size_t i = 0; i < d->outputs; i++) sum += (double)p->theta[p->dim - d->outputs + i];
    return sum / (double)d->outputs;
}

/* ---- entropy: the net's numbers, from theta as POLICIES in resnharpg.h lays it out */
PLOT_FN double progress_unit(rn_activation kind, double x) {
    return kind == RN_TANH ? tanh(x) : kind == RN_RELU ? fmax(x, 0) : x;
}

/* x: observation in, logits out */
PLOT_FN void progress_logits(const rn_net *net, const rn_real *theta, double *x) {
    const rn_net_desc *d = &net->desc;
    double y[PROGRESS_WIDTH];
    for (size_t l = 0; l < net->layers; l++) {
        const size_t in = net->in[l], out = net->out[l];
        const rn_real *W = theta + net->offset[l];
        for (size_t j = 0; j < out; j++) {
            y[j] = d->no_bias ? 0 : (double)W[in * out + j];
            for (size_t i = 0; i < in; i++) y[j] += x[i] * (double)W[i * out + j];
            if (l + 1 < net->layers)
                y[j] = progress_unit(d->activation, y[j]);
            else if (d->tanh_head)
                y[j] = tanh(y[j]);
        }
        memcpy(x, y, out * sizeof *x);
    }
}

/* logits in, probabilities out */
PLOT_FN double progress_softmax(double *x, size_t n) {
    double most = x[0], sum = 0, entropy = 0;
    for (size_t i = 1; i < n; i++) most = fmax(most, x[i]);
    for (size_t i = 0; i < n; i++) sum += x[i] = exp(x[i] - most);
    for (size_t i = 0; i < n; i++) {
        x[i] /= sum;
        entropy -= x[i] > 0 ? x[i] * log(x[i]) : 0;
    }
    return entropy;
}

PLOT_FN int progress_fits(const progress_log *log) {
    const rn_net *net = log->net;
    if (!net || net->desc.gaussian || !log->env.step) return 0;
    for (size_t l = 0; l < net->layers; l++)
        if (net->in[l] > PROGRESS_WIDTH || net->out[l] > PROGRESS_WIDTH) return 0;
    return 1;
}

/* of the actions, mean over a trajectory of the policy's own; NaN if it is not to be had */
PLOT_FN double progress_entropy(progress_log *log, const rn_real *theta) {
    const agg_rng rng = rn_random_rng(&log->random);
    rn_step_result result = RN_RUNNING;
    rn_real obs[PROGRESS_WIDTH], act = 0;
    double x[PROGRESS_WIDTH], reward, sum = 0;
    int t = 0;
    if (!progress_fits(log)) return (double)NAN;
    log->env.reset(log->env.self, &rng, obs);
    for (; t < PROGRESS_STEPS && result == RN_RUNNING; t++) {
        double u = rn_draw_uniform(&rng);
        size_t a = 0;
        for (size_t i = 0; i < log->net->desc.obs_dim; i++) x[i] = (double)obs[i];
        progress_logits(log->net, theta, x);
        sum += progress_softmax(x, log->net->desc.outputs);
        while (a + 1 < log->net->desc.outputs && (u -= x[a]) >= 0) a++;
        act = (rn_real)a;
        result = log->env.step(log->env.self, &act, &rng, obs, &reward);
    }
    return sum / t;
}

/* ---- the file */
PLOT_FN void progress_number(FILE *out, double v) {
    if (isnan(v))
        fprintf(out, ",");
    else
        fprintf(out, ",%.6g", v);
}

/* as desc.progress; self: the log */
PLOT_FN void progress_write(void *self, const rn_progress *p) {
    progress_log *log = (progress_log *)self;
    const double v[PROGRESS_LINES] = {p->mean_return,
                                      p->mean_length,
                                      p->norm,
                                      progress_cosine(log, p->dim),
                                      p->gamma,
                                      p->eta,
                                      progress_log_std(log, p),
                                      progress_entropy(log, p->theta)};
    const int drawn = log->n < PROGRESS_MOST;
    fprintf(log->out, "%d,%.0f,%.0f", (int)p->round, (double)p->trajectories, (double)p->env_steps);
    for (int k = 0; k < PROGRESS_LINES; k++) progress_number(log->out, v[k]);
    fprintf(log->out, ",%d", (int)p->dropped);
    for (size_t i = 0; i < log->agents; i++) {
        const double s = p->suspicion ? p->suspicion[i] : (double)NAN;
        progress_number(log->out, s);
        if (drawn) log->suspicion[i * PROGRESS_MOST + log->n] = s;
    }
    fprintf(log->out, "\n");
    if (!drawn) return;
    log->x[log->n] = (double)p->round;
    for (int k = 0; k < PROGRESS_LINES; k++) log->y[k][log->n] = v[k];
    log->n++;
}

/* ---- the figure */
/* one panel, from the first round on that has a number; none: no panel */
PLOT_FN void progress_panel(plot *p, plot_box box, const progress_log *log, int line,
                            const char *title) {
    size_t from = 0, n;
    const double *y = log->y[line];
    while (from < log->n && isnan(y[from])) from++;
    n = log->n - from;
    if (n < 2) return;
    const plot_curve curve = {title, n, log->x + from, y + from, NULL, NULL, 0, 0};
    plot_chart chart = {title, "round", NULL, {0, log->x[log->n - 1], 0}, {0, 0, 0}, &curve, 1};
    for (size_t i = from; i < log->n; i++) {
        chart.y.lo = fmin(chart.y.lo, y[i]);
        chart.y.hi = fmax(chart.y.hi, y[i]);
    }
    const double room = 0.06 * (chart.y.hi - chart.y.lo);
    chart.y.hi += room > 0 ? room : 1;
    chart.y.lo -= chart.y.lo < 0 ? room : 0;
    plot_curves(p, box, &chart);
}

/* a curve for each of the first 16 agents: the mean of its last ten suspicions, .2 .. 20 */
PLOT_FN void progress_suspicion(plot *p, plot_box box, const progress_log *log) {
    const size_t agents = log->agents < 16 ? log->agents : 16;
    if (log->n < 2 || isnan(log->suspicion[0])) return;
    double *mean = (double *)calloc(16 * PROGRESS_MOST, sizeof *mean);
    char name[16][16];
    plot_curve curve[16];
    for (size_t i = 0; mean && i < agents; i++) {
        const double *s = log->suspicion + i * PROGRESS_MOST;
        double *y = mean + i * PROGRESS_MOST;
        for (size_t t = 0; t < log->n; t++) {
            const size_t from = t < 9 ? 0 : t - 9;
            for (size_t k = from; k <= t; k++) y[t] += fmin(s[k], 20) / (double)(t + 1 - from);
        }
        snprintf(name[i], sizeof name[i], "agent %d", (int)i);
        const plot_curve c = {name[i], log->n, log->x, y, NULL, NULL, (int)i, i >= PLOT_COLOURS};
        curve[i] = c;
    }
    const plot_chart chart = {"suspicion, mean of ten rounds",
                              "round",
                              NULL,
                              {0, log->x[log->n - 1], 0},
                              {0.2, 20, 1},
                              curve,
                              agents};
    box.w -= 56; /* the names stand at the right */
    if (mean) plot_named_curves(p, box, &chart);
    free(mean);
}

/* 0, or -1 if it cannot */
PLOT_FN int progress_draw(const progress_log *log, const char *title) {
    static const char *const name[PROGRESS_LINES] = {
        "return",  "length of a trajectory", "||d||", "cosine of d to the last d", "gamma", "eta",
        "log_std", "entropy of the actions"};
    const int gaussian = log->net && log->net->desc.gaussian;
    const int shown[7] = {
        PROGRESS_RETURN, PROGRESS_LENGTH, gaussian ? PROGRESS_LOG_STD : PROGRESS_ENTROPY,
        PROGRESS_NORM,   PROGRESS_COSINE, PROGRESS_GAMMA,
        PROGRESS_ETA};
    const plot_box page = plot_make_box(14, 44, 1372, 440);
    char path[264];
    plot p;
    progress_path(log, "svg", path);
    if (plot_open(&p, path, 1400, 492, title) != 0) return -1;
    for (size_t k = 0; k < 7; k++) {
        const size_t place = k < 3 ? k : k + 1; /* suspicion has the fourth */
        progress_panel(&p, plot_cell(page, 2, 4, place / 4, place % 4), log, shown[k],
                       name[shown[k]]);
    }
    progress_suspicion(&p, plot_cell(page, 2, 4, 0, 3), log);
    return plot_close(&p);
}

/* the figure, and the end of the file. 0 if every byte reached both */
PLOT_FN int progress_close(progress_log *log, const char *title) {
    const int bad = ferror(log->out) | (fclose(log->out) != 0);
    const int undrawn = progress_draw(log, title) != 0;
    free(log->last);
    free(log->suspicion);
    memset(log, 0, sizeof *log);
    return bad || undrawn ? -1 : 0;
}
#endif /* PROGRESS_H */
