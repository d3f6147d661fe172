/* variance: how far is an agent's d from the gradient? Three paths theta_1, theta_2, .. are made
   once, by ten honest agents; then every estimator walks along the same paths, on as many
   trajectories a round, and E ||d_t - grad J(theta_t)||^2 is measured over many agents. On the
   table the gradient is exact (dynamic programming). On the others it is the mean of many
   trajectories, twice: with two independent means G and G', <d - G, d - G'> has the expectation
   ||d - grad J||^2, however noisy they are.

   Momentum, the paper's form (one trajectory for g, one for v), the same with v clipped, and v on
   g's own trajectories (method.reuse) have the eta of the path's recipe; for the first two the best
   constant eta is looked up afterwards as well, which no user could. method.tuned has none. */
#define _POSIX_C_SOURCE 200809L
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include "paper.h"
#include "../explain.h"
#include "../pool.h"
#include "../envs/cartpole.h"
#include "../envs/inverted_pendulum.h"

enum { TABLE, SLOW_POLE, FAST_POLE, PENDULUM, PATHS };
enum { LINES = 6, GRID = 6, RUNS = LINES + 2 * GRID };
enum { MAX_POINTS = 20, MAX_AGENTS = 64, S = 3, A = 2, STEPS = 12 };

/* ---- the table: rewards in [0,1], transitions half uniform and half random, uniform start */
static const double table_discount = 0.5;
static double reward[S][A], next_state[S][A][S];

static void make_table(void) {
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

static void table_reset(void *self, const agg_rng *rng, rn_real *obs) {
    *(int *)self = (int)rn_draw_below(rng, S);
    obs[0] = (rn_real) * (int *)self;
}

static rn_step_result table_step(void *self, const rn_real *act, const agg_rng *rng, rn_real *obs,
                                 double *r) {
    int *s = (int *)self, k = 0;
    const int a = act[0] > 0;
    double u = rn_draw_uniform(rng);
    *r = reward[*s][a];
    while (k < S - 1 && (u -= next_state[*s][a][k]) >= 0) k++;
    *s = k;
    obs[0] = (rn_real)k;
    return RN_RUNNING;
}

static double action_value(int s, int a, const double v[S]) {
    double sum = 0;
    for (int k = 0; k < S; k++) sum += next_state[s][a][k] * v[k];
    return reward[s][a] + table_discount * sum;
}

/* grad J_H = sum_t discount^t P(s_t = s) pi(a|s) (Q - V), with H-t steps to go */
static void table_gradient(const rn_real *theta, double *grad) {
    double p[S][A], v[STEPS + 1][S], visit[S], scale = 1;
    for (int s = 0; s < S; s++) {
        p[s][1] = 1 / (1 + exp((double)theta[A * s] - (double)theta[A * s + 1]));
        p[s][0] = 1 - p[s][1];
        v[0][s] = 0;
        visit[s] = 1.0 / S;
    }
    for (int h = 1; h <= STEPS; h++)
        for (int s = 0; s < S; s++)
            v[h][s] =
                p[s][0] * action_value(s, 0, v[h - 1]) + p[s][1] * action_value(s, 1, v[h - 1]);
    for (int i = 0; i < S * A; i++) grad[i] = 0;
    for (int t = 0; t < STEPS; t++, scale *= table_discount) {
        double then[S] = {0};
        for (int s = 0; s < S; s++)
            for (int a = 0; a < A; a++) {
                grad[A * s + a] += scale * visit[s] * p[s][a] *
                                   (action_value(s, a, v[STEPS - t - 1]) - v[STEPS - t][s]);
                for (int k = 0; k < S; k++) then[k] += visit[s] * p[s][a] * next_state[s][a][k];
            }
        memcpy(visit, then, sizeof visit);
    }
}

/* ---- the paths */
typedef union body {
    int table;
    cartpole pole;
    inverted_pendulum pendulum;
} body;

typedef struct path_row {
    const char *name;
    size_t hidden, horizon;
    double discount;
    double gamma;             /* to 0 in so many ... */
    size_t gamma_rounds;      /* 0: constant */
    size_t rounds, quick;     /* with --quick */
    size_t trajectories;      /* a round, for every estimator; even */
    size_t agents, reference; /* walkers; trajectories of G and of G' */
    double eta, clip;         /* eta 0: 1/t */
    double share;             /* of the program's time, about */
} path_row;

/* clang-format off */
static const path_row rows[PATHS] = {
    {"table, gamma .02",       0,  STEPS, 0.5,   0.02, 0,   400, 100, 2,  64, 0,   0,   0.25, 1},
    {"CartPole, gamma .02",    16, 500,   0.99,  0.02, 200, 160, 60,  16, 16, 600, 0.3, 0.25, 8},
    {"CartPole, gamma .08",    16, 500,   0.99,  0.08, 200, 160, 60,  16, 16, 600, 0.3, 0.25, 12},
    {"InvertedPendulum, flat", 64, 300,   0.985, 0.02, 400, 240, 60,  2,  32, 400, 0.2, 0.25, 40}};
/* clang-format on */

typedef struct path {
    const path_row *row;
    rn_policy policy;
    rn_table table;
    rn_net net;
    rn_method method;
    rn_schedule gamma;
    size_t rounds, agents, every, points;
    rn_real *theta; /* rounds rows of dim */
    double *G[2];   /* points rows of dim */
    double scale[MAX_POINTS];
    double error[RUNS][MAX_POINTS][MAX_AGENTS]; /* ||d - grad J||^2 */
} path;

static rn_env path_env(const path *p, body *b) {
    rn_env e;
    memset(&e, 0, sizeof e);
    if (p->row == &rows[PENDULUM]) return inverted_pendulum_env(&b->pendulum);
    if (p->row->hidden) return cartpole_env(&b->pole);
    e.self = &b->table;
    e.reset = table_reset;
    e.step = table_step;
    e.obs_dim = e.act_dim = 1;
    e.actions = A;
    return e;
}

static rn_policy path_policy(path *p) {
    rn_net_desc net = rn_make_net_desc(4, p->row == &rows[PENDULUM] ? 1 : 2);
    if (!p->row->hidden) return rn_make_table_policy(&p->table, S, A);
    net.hidden[0] = net.hidden[1] = p->row->hidden;
    if (p->row == &rows[PENDULUM]) {
        net.gaussian = 1;
        net.log_std = net.log_std_min = -0.5;
        net.log_std_max = 2;
    }
    return rn_make_net_policy(&p->net, &net);
}

static void path_make(path *p, int index, int quick) {
    const path_row *r = p->row = &rows[index];
    p->rounds = quick ? r->quick : r->rounds;
    p->agents = quick ? r->agents / 4 : r->agents;
    p->points = MAX_POINTS;
    p->every = p->rounds / p->points;
    p->method.causal = r->hidden > 0;
    p->method.flat = index == PENDULUM;
    p->method.baseline = r->hidden ? RN_BASELINE_RIDGE : RN_BASELINE_NONE;
    p->method.horizon = r->horizon;
    p->method.discount = r->discount;
    p->gamma = r->gamma_rounds ? rn_schedule_linear(r->gamma, 0, r->gamma_rounds)
                               : rn_schedule_constant(r->gamma);
    p->policy = path_policy(p);
    p->theta = (rn_real *)calloc(p->rounds * p->policy.dim, sizeof *p->theta);
    p->G[0] = (double *)calloc(2 * p->points * p->policy.dim, sizeof *p->G[0]);
    if (!p->theta || !p->G[0]) exit(1);
    p->G[1] = p->G[0] + p->points * p->policy.dim;
}

/* ten honest agents, the mean, momentum: theta_1, theta_2, .. */
static void path_record(path *p) {
    static body bodies[10];
    rn_env envs[10];
    rn_trainer *trainer = NULL;
    rn_trainer_desc d;
    for (int i = 0; i < 10; i++) envs[i] = path_env(p, &bodies[i]);
    d = rn_make_trainer_desc(10, 0, envs, p->policy);
    d.method = p->method;
    d.method.no_hessian = 1;
    d.method.batch = p->row->trajectories;
    d.server.agg.rule = AGG_MEAN;
    d.server.agg.pre[0] = AGG_PRE_NNM; /* of the mean it changes but last bits: the picture's */
    d.server.gamma = p->gamma;
    d.server.eta = rn_schedule_constant(0.3);
    d.seed = 77;
    if (explain_trainer(rn_trainer_create(&trainer, &d), &d) != RN_OK) exit(1);
    for (size_t t = 0; t < p->rounds; t++) {
        memcpy(p->theta + t * p->policy.dim, rn_trainer_theta(trainer),
               p->policy.dim * sizeof *p->theta);
        if (rn_trainer_run_round(trainer) != RN_OK) exit(1);
    }
    rn_trainer_destroy(trainer);
}

typedef struct walker {
    body body;
    rn_agent *agent;
    void *block;
} walker;

static void walker_open(walker *w, const path *p, const rn_method *m, uint64_t seed,
                        uint32_t stream) {
    rn_agent_desc d;
    memset(&d, 0, sizeof d);
    d.env = path_env(p, &w->body);
    d.policy = p->policy;
    d.method = *m;
    d.seed = seed;
    d.stream = stream;
    const size_t size = rn_agent_size(&d);
    w->block = malloc(size + 1);
    if (!w->block) exit(1);
    if (explain_agent(rn_agent_init(&w->agent, &d, w->block, size), &d) != RN_OK) exit(1);
}

/* the round, from 0, of a point */
static size_t point_round(const path *p, size_t point) { return (point + 1) * p->every - 1; }

/* G and G' at one point; a first round is for the baseline to learn from */
static void path_reference(path *p, size_t point) {
    const size_t dim = p->policy.dim;
    const rn_real *theta = p->theta + point_round(p, point) * dim;
    double *G[2] = {p->G[0] + point * dim, p->G[1] + point * dim}, sum = 0;
    for (int half = 0; half < 2; half++) {
        rn_method m = p->method;
        walker w;
        m.no_hessian = 1;
        m.batch = p->row->reference;
        if (!m.batch) {
            table_gradient(theta, G[half]);
            continue;
        }
        walker_open(&w, p, &m, 1000 + point, (uint32_t)half);
        for (int k = 0; k < 2; k++)
            if (rn_agent_run_round(w.agent, theta, 1) != RN_OK) exit(1);
        for (size_t i = 0; i < dim; i++) G[half][i] = (double)rn_agent_direction(w.agent)[i];
        free(w.block);
    }
    for (size_t i = 0; i < dim; i++) sum += G[0][i] * G[1][i];
    p->scale[point] = sum;
}

/* ---- the estimators */
typedef struct estimator {
    const char *name;
    int no_hessian, clip, no_memory, reuse, tuned;
} estimator;

enum { PG, MOMENTUM, PAPER, CLIP, REUSE, TUNED };

static const estimator lines[LINES] = {{"PG", 1, 0, 1, 0, 0},
                                       {"momentum", 1, 0, 0, 0, 0},
                                       {"1+1, the paper's", 0, 0, 0, 0, 0},
                                       {"1+1, clipped", 0, 1, 0, 0, 0},
                                       {"v on g's own (reuse)", 0, 0, 0, 1, 0},
                                       {"self-tuned", 0, 0, 0, 0, 1}};
static const double grid[GRID] = {0.02, 0.05, 0.1, 0.2, 0.4, 0.7};

/* run: a line, or momentum and the paper's with an eta of the grid */
static const estimator *run_line(int run) {
    return &lines[run < LINES ? run : run < LINES + GRID ? MOMENTUM : PAPER];
}

static double run_eta(const path *p, int run, size_t t) {
    if (run_line(run)->no_memory) return 1;
    if (run >= LINES) return grid[(run - LINES) % GRID];
    return p->row->eta > 0 ? p->row->eta : 1 / (double)t;
}

static rn_method run_method(const path *p, int run) {
    const estimator *l = run_line(run);
    rn_method m = p->method;
    m.no_hessian = l->no_hessian;
    m.clip = l->clip ? p->row->clip : 0;
    m.tuned = l->tuned;
    m.reuse = l->reuse;
    m.batch = p->row->trajectories / (m.no_hessian || l->tuned || l->reuse ? 1 : 2);
    return m;
}

static void walk(path *p, int run, size_t who) {
    const size_t dim = p->policy.dim;
    const rn_method m = run_method(p, run);
    walker w;
    walker_open(&w, p, &m, 500, (uint32_t)who);
    for (size_t t = 0, point = 0; t < p->rounds && point < p->points; t++) {
        double sum = 0;
        if (rn_agent_run_round(w.agent, p->theta + t * dim, run_eta(p, run, t + 1)) != RN_OK)
            exit(1);
        if (t != point_round(p, point)) continue;
        for (size_t i = 0; i < dim; i++) {
            const double d = (double)rn_agent_direction(w.agent)[i];
            sum += (d - p->G[0][point * dim + i]) * (d - p->G[1][point * dim + i]);
        }
        p->error[run][point++][who] = sum;
    }
    free(w.block);
}

/* ---- all of it */
typedef struct study {
    path paths[PATHS];
    int quick;
    paper_progress progress;
} study;

typedef struct part {
    study *s;
    path *p;
} part;

static void reference_job(void *arg, size_t i) {
    const part *q = (const part *)arg;
    path_reference(q->p, i);
    paper_progress_add(&q->s->progress, 0.2 * q->p->row->share / (double)q->p->points);
}

static void walk_job(void *arg, size_t i) {
    const part *q = (const part *)arg;
    walk(q->p, (int)(i % RUNS), i / RUNS);
    paper_progress_add(&q->s->progress, 0.8 * q->p->row->share / (double)(RUNS * q->p->agents));
}

/* ---- what was found */
static double mean_error(const path *p, int run, size_t point) {
    double sum = 0;
    for (size_t i = 0; i < p->agents; i++) sum += p->error[run][point][i];
    return sum / (double)p->agents;
}

/* sum_t E ||d_t - grad J_t||^2 / sum_t ||grad J_t||^2 */
static double total_error(const path *p, int run) {
    double sum = 0, scale = 0;
    for (size_t k = 0; k < p->points; k++) {
        sum += mean_error(p, run, k);
        scale += p->scale[k];
    }
    return sum / scale;
}

/* of the eta that were tried with momentum (0) or the paper's form (1) */
static int best_run(const path *p, int form) {
    int best = LINES + form * GRID;
    for (int i = 1; i < GRID; i++)
        if (total_error(p, LINES + form * GRID + i) < total_error(p, best))
            best = LINES + form * GRID + i;
    return best;
}

static void print_table(paper_claims *c, const study *s) {
    enum { NAME = 26, NUMBER = 10 };

    paper_note(c, "Error of d: sum of ||d - grad J||^2 over the path by that of ||grad J||^2.\n");
    paper_row_name(c, NAME, "path");
    for (int l = 0; l < LINES; l++) paper_cell(c, NUMBER, "%.9s", lines[l].name);
    paper_cell(c, 2 * NUMBER, "best momentum");
    paper_cell(c, 2 * NUMBER, "best 1+1");
    paper_row_end(c, 3 + LINES);
    for (int i = 0; i < PATHS; i++) {
        const path *p = &s->paths[i];
        paper_row_name(c, NAME, p->row->name);
        for (int l = 0; l < LINES; l++) paper_cell(c, NUMBER, "%.3g", total_error(p, l));
        for (int form = 0; form < 2; form++) {
            const int run = best_run(p, form);
            paper_cell(c, 2 * NUMBER, "%.3g (eta %g)", total_error(p, run), run_eta(p, run, 1));
        }
        paper_row_end(c, 0);
    }
}

static void claim_tuned(paper_claims *c, const path *p, int hindsight) {
    const double a = total_error(p, hindsight ? best_run(p, 0) : MOMENTUM);
    const double b = total_error(p, hindsight ? best_run(p, 1) : PAPER);
    const double tuned = total_error(p, TUNED);
    char claim[160];
    snprintf(claim, sizeof claim, "%s: self-tuned within 10 %% of the better%s", p->row->name,
             hindsight ? ", eta best in hindsight" : "");
    paper_claim(c, tuned <= 1.1 * fmin(a, b), claim, "%.3g against momentum %.3g, 1+1 %.3g", tuned,
                a, b);
}

static int write_claims(const char *file, const study *s) {
    paper_claims c;
    if (paper_claims_open(&c, file, "The error of d") != 0) return -1;
    paper_note(&c,
               "All estimators on the same paths of theta, with as many trajectories a round; %d "
               "to %d agents each. PG: d = g. 1+1: the paper's form. Clipped: ||v|| at most 1/4 "
               "||d||.",
               (int)s->paths[FAST_POLE].agents, (int)s->paths[TABLE].agents);
    print_table(&c, s);
    for (int hindsight = 0; hindsight < 2; hindsight++) {
        paper_note(&c, hindsight ? "Past the goal: no worse than the best constant eta."
                                 : "The goal: no worse than momentum and the paper's form with the "
                                   "eta of the recipe.");
        for (int i = 0; i < PATHS; i++) claim_tuned(&c, &s->paths[i], hindsight);
    }
    return paper_claims_close(&c);
}

static int write_csv(const char *file, const study *s) {
    FILE *out = fopen(file, "w");
    if (!out) return -1;
    fprintf(out, "path,estimator,eta,round,error,gradient\n");
    for (int i = 0; i < PATHS; i++)
        for (int run = 0; run < RUNS; run++)
            for (size_t k = 0; k < s->paths[i].points; k++) {
                const path *p = &s->paths[i];
                const size_t t = point_round(p, k) + 1;
                fprintf(out, "\"%s\",\"%s\",%g,%d,%.6g,%.6g\n", p->row->name, run_line(run)->name,
                        run == TUNED ? 0 : run_eta(p, run, t), (int)t, mean_error(p, run, k),
                        p->scale[k]);
            }
    const int bad = ferror(out);
    return fclose(out) != 0 || bad ? -1 : 0;
}

/* by the mean of ||grad J||^2 over the path, so that the sum of a curve is the table's number */
static void draw_path(plot *page, plot_box box, const path *p, plot_curve *curve) {
    static double x[MAX_POINTS], y[LINES][MAX_POINTS];
    double scale = 0, low = 1e300, high = 0;
    for (size_t k = 0; k < p->points; k++) scale += p->scale[k] / (double)p->points;
    for (int l = 0; l < LINES; l++) {
        for (size_t k = 0; k < p->points; k++) {
            x[k] = (double)(point_round(p, k) + 1);
            y[l][k] = fmax(1e-4, mean_error(p, l, k) / scale);
            low = fmin(low, y[l][k]);
            high = fmax(high, y[l][k]);
        }
        const plot_curve one = {lines[l].name, p->points, x, y[l], NULL, NULL, l, l == PG};
        curve[LINES - 1 - l] = one;
    }
    const plot_chart chart = {
        p->row->name, "round", "||d - grad J||^2", {0, (double)p->rounds, 0}, {low, high, 1},
        curve,        LINES};
    plot_named_curves(page, box, &chart);
}

static int draw(const char *file, const study *s) {
    plot p;
    plot_curve curve[LINES];
    const plot_box page = plot_make_box(14, 66, 1272, 560);
    if (paper_figure(&p, file, 1300, 634, "How far an agent's d is from the gradient") != 0)
        return -1;
    plot_text(
        &p, 20, 54, PLOT_LEFT, "note",
        "Mean squared error of d by the mean of ||grad J||^2 over the path; the same paths and "
        "as many trajectories for all (estimates below 0.0001 stand there)");
    for (int i = 0; i < PATHS; i++)
        draw_path(&p, plot_cell_for_names(page, 2, 2, (size_t)i / 2, (size_t)i % 2, 130),
                  &s->paths[i], curve);
    return plot_close(&p);
}

int main(int argc, char **argv) {
    static study s;
    pool workers;
    char md[64], csv[64], svg[64];
    double work = 0;
    s.quick = paper_quick(argc, argv,
                          "usage: variance [--quick]\n"
                          "The error of d, estimator by estimator, along four paths of theta:\n"
                          "writes build/variance.svg, .csv and .md. --quick: shorter paths,\n"
                          "build/variance_quick.*\n");
    make_table();
    for (int i = 0; i < PATHS; i++) {
        path_make(&s.paths[i], i, s.quick);
        work += rows[i].share;
    }
    paper_progress_start(&s.progress, work);
    pool_start(&workers, paper_cores());
    for (int i = 0; i < PATHS; i++) {
        part q = {&s, &s.paths[i]};
        path_record(q.p);
        pool_run(&workers, q.p->points, reference_job, &q);
        pool_run(&workers, RUNS * q.p->agents, walk_job, &q);
    }
    pool_stop(&workers);
    if (write_claims(paper_path(md, "variance", s.quick, "md"), &s) != 0 ||
        write_csv(paper_path(csv, "variance", s.quick, "csv"), &s) != 0 ||
        draw(paper_path(svg, "variance", s.quick, "svg"), &s) != 0)
        exit((fprintf(stderr, "cannot write build/variance.*\n"), 1));
    printf("%s, %s, %s\n", svg, csv, md);
    return 0;
}
