/* table1: the paper's table 1, measured. For each rule: lambda by the formula; the largest
   ||F - mean_G|| / diam_G that an optimising adversary reaches; what the rule costs in N and d,
   with fitted exponents; whether it is order-optimal. The adversary chooses everything: the f
   hostile rows and the honest ones too, for the guarantee is for all of them. A second one, which
   thinks in groups of rows at several scales, attacks up to 100 rows.
   The idea: a bound is only interesting beside the worst case somebody could build. */
#define _POSIX_C_SOURCE 200809L
#define AGGREGATORS_IMPLEMENTATION
#include "aggregators.h"
#include "paper.h"
#include <float.h>

enum { RULES = 6, MAX_N = 10, MAX_F = 4, MAX_DIM = 4 };

enum { SCENES = 3, SCENE_N = 100, SCENE_DIM = 52 };

enum { SIZES = 5, BIG_N = 256, BIG_DIM = 65536, FIX_N = 16, FIX_DIM = 2048 };

#define SORTED "; columns are sorted by a network of N log^2 N comparisons"

/* the cost by the paper, and why the exponent may differ: choices of the implementation, not of the
   rule */
static const struct row {
    agg_rule rule;
    const char *cost, *remark;
} table[RULES] = {
    {AGG_MDA, "NP-hard", ""},
    {AGG_CWTM, "d N", SORTED},
    {AGG_MEAMED, "d N", SORTED},
    {AGG_CWMED, "d N", SORTED},
    {AGG_KRUM, "d N^2", ""},
    {AGG_GM, "d N log^3 N", "; works on all pair distances, d N^2, so that it can prove its gap"}};

static const size_t dims[] = {1, 2, MAX_DIM};
static const size_t size_n[SIZES] = {16, 32, 64, 128, BIG_N};
static const size_t scene_n[SCENES] = {20, 50, SCENE_N};
static const size_t size_dim[SIZES] = {4096, 8192, 16384, 32768, BIG_DIM};

/* rows 0 .. n-f-1 are honest: the set G */
typedef struct instance {
    float x[MAX_N][MAX_DIM];
} instance;

typedef struct worst {
    double ratio, lambda;
    size_t dim;
} worst;

typedef struct cost {
    double n[SIZES], dim[SIZES]; /* seconds at size_n, size_dim */
    paper_slope in_n, in_dim;
} cost;

typedef struct found {
    worst at[MAX_N + 1][MAX_F + 1];
    worst scene[SCENES];
    double tightest;
    cost cost;
} found;

/* ---- random numbers */
/* splitmix64 */
static uint64_t random_bits(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static double uniform(uint64_t *state) {
    return (double)(random_bits(state) >> 11) / 9007199254740992.0;
}

static size_t below(uint64_t *state, size_t n) { return (size_t)(uniform(state) * (double)n); }

static double normal(uint64_t *state) {
    return sqrt(-2 * log(1 - uniform(state))) * cos(6.283185307179586 * uniform(state));
}

/* ---- the adversary */
static double distance(const float *a, const float *b, size_t dim) {
    double s = 0;
    for (size_t k = 0; k < dim; k++)
        s += ((double)a[k] - (double)b[k]) * ((double)a[k] - (double)b[k]);
    return sqrt(s);
}

/* ||F - mean_G|| / diam_G, G = the first n-f rows. A few units in the last place of the largest
   number are taken off the distance, or the climb ends at instances where nothing but the rounding
   of the float result is left. */
static double ratio_of(const agg_desc *d, const float *x, size_t stride) {
    static char scratch[1 << 20];
    const size_t honest = d->n - d->f;
    const float *rows[SCENE_N];
    float out[SCENE_DIM];
    double diameter = 0, largest = 0, squares = 0;
    for (size_t i = 0; i < d->n; i++) rows[i] = x + i * stride;
    const agg_status s = agg_aggregate(d, rows, out, scratch, sizeof scratch, NULL);
    if (s > AGG_INEXACT) exit((fprintf(stderr, "refused\n"), 1));
    for (size_t k = 0; k < d->dim; k++) {
        double mean = 0;
        for (size_t i = 0; i < honest; i++) {
            mean += (double)rows[i][k] / (double)honest;
            largest = fmax(largest, fabs((double)rows[i][k]));
        }
        squares += ((double)out[k] - mean) * ((double)out[k] - mean);
    }
    for (size_t i = 0; i < honest; i++)
        for (size_t j = 0; j < i; j++)
            diameter = fmax(diameter, distance(rows[i], rows[j], d->dim));
    const double slack = 4 * (double)FLT_EPSILON * largest * sqrt((double)d->dim);
    const double more = s == AGG_INEXACT && d->rule == AGG_MDA ? 1.5 : 1; /* lambda has then */
    return diameter > 0 ? fmax(0, sqrt(squares) - slack) / diameter / more : 0;
}

/* Where to start: noise, or two honest camps of random sizes with the adversaries beside, between
   or far away from them. */
static void start(instance *w, const agg_desc *d, uint64_t *state) {
    const int noise = below(state, 3) == 0;
    const size_t camp = below(state, d->n - d->f + 1);
    const double where = 4 * uniform(state) - 1.5, spread = below(state, 2) ? 0.01 : 0.3;
    for (size_t i = 0; i < d->n; i++)
        for (size_t k = 0; k < d->dim; k++) {
            const double base = k > 0 ? 0 : i >= d->n - d->f ? where : i >= camp;
            w->x[i][k] = (float)(noise ? normal(state) : base + spread * normal(state));
        }
}

/* one move: a row, or all adversaries */
static void change(instance *w, const agg_desc *d, double step, uint64_t *state) {
    const size_t kind = below(state, 8), i = below(state, d->n), j = below(state, d->n),
                 first = d->n - d->f;
    float by[MAX_DIM];
    for (size_t k = 0; k < d->dim; k++) by[k] = (float)(step * normal(state));
    if (kind == 0)
        memcpy(w->x[i], w->x[j], sizeof w->x[i]);
    else if (kind == 1)
        for (size_t k = 0; k < d->dim; k++)
            w->x[i][k] += (float)(uniform(state) * 1.5) * (w->x[j][k] - w->x[i][k]);
    else if (kind == 2)
        for (size_t r = first; r < d->n; r++)
            for (size_t k = 0; k < d->dim; k++) w->x[r][k] += by[k];
    else if (kind == 3)
        w->x[i][below(state, d->dim)] = w->x[j][below(state, d->dim)];
    else
        for (size_t k = 0; k < d->dim; k++) w->x[kind < 6 ? i : first + i % d->f][k] += by[k];
}

static double climb(const agg_desc *d, size_t steps, uint64_t *state) {
    instance now, next;
    double best, step = 0.5;
    start(&now, d, state);
    best = ratio_of(d, now.x[0], MAX_DIM);
    for (size_t t = 0; t < steps; t++) {
        next = now;
        change(&next, d, step, state);
        const double ratio = ratio_of(d, next.x[0], MAX_DIM);
        if (ratio > best) {
            best = ratio;
            now = next;
            step = fmin(2, step * 1.5);
        } else {
            step = step > 1e-4 ? step * 0.98 : 0.5; /* stuck: big steps again */
        }
    }
    return best;
}

static void attack(found *r, agg_rule rule, size_t n, size_t f, size_t starts, size_t steps) {
    worst *w = &r->at[n][f];
    for (size_t k = 0; k < sizeof dims / sizeof *dims; k++) {
        const agg_desc d = agg_make_desc(rule, n, dims[k], f);
        const double lambda = agg_lambda(rule, n, f, dims[k]);
        uint64_t state = 1000 * n + 100 * f + 10 * k + (uint64_t)rule;
        for (size_t s = 0; s < starts; s++) {
            const double ratio = climb(&d, steps, &state);
            if (w->lambda > 0 && ratio / lambda <= w->ratio / w->lambda) continue;
            w->ratio = ratio;
            w->lambda = lambda;
            w->dim = dims[k];
        }
    }
    r->tightest = fmax(r->tightest, w->ratio / w->lambda);
}

/* ---- the adversary of many rows: some of its own stand in front, where the rule is to be lured,
   the others far behind, where they only pull */
typedef struct scene {
    int simplex, diagonal; /* honest rows: a simplex or two camps; which way the others lie */
    size_t camp, front;    /* how many: in the first camp, in front */
    double at, log_far;    /* in diameters of the honest rows */
} scene;

static scene random_scene(const agg_desc *d, uint64_t *state) {
    scene s;
    s.simplex = below(state, 3) > 0;
    s.diagonal = below(state, 2) > 0;
    s.camp = 1 + below(state, d->n - d->f);
    s.front = 1 + (below(state, 2) ? 0 : below(state, d->f));
    s.at = uniform(state) * (below(state, 2) ? 2 : 1.1 * (double)d->f);
    s.log_far = below(state, 2) ? 6 + 3 * uniform(state) : 36 * uniform(state);
    return s;
}

static double scene_ratio(const agg_desc *d, const scene *s) {
    static float x[SCENE_N][SCENE_DIM];
    const size_t honest = d->n - d->f;
    for (size_t i = 0; i < d->n; i++)
        for (size_t k = 0; k < d->dim; k++) {
            const double camps = k == 0 && i >= s->camp, corner = i == k ? sqrt(0.5) : 0;
            const double spread = k < honest ? 1 / sqrt((double)honest) : 0;
            const double way = s->diagonal ? spread : k == honest;
            const double away = i < honest + s->front ? s->at : pow(10, s->log_far);
            x[i][k] = (float)(i >= honest ? away * way : s->simplex ? corner : camps);
        }
    return ratio_of(d, x[0], SCENE_DIM);
}

static void attack_many(found *r, agg_rule rule, size_t which, size_t steps) {
    const size_t n = scene_n[which], f = (n - 1) / 2, dim = n - f + 1;
    worst *w = &r->scene[which];
    agg_desc d = agg_make_desc(rule, n, dim, f);
    uint64_t state = 7 * n + (uint64_t)rule;
    scene now = random_scene(&d, &state);
    w->lambda = agg_lambda(rule, n, f, dim);
    w->dim = dim;
    d.budget = 2000;
    for (size_t t = 0; t < steps; t++) {
        scene next = now;
        next.at *= exp(0.2 * normal(&state));
        next.log_far = fmin(36, fabs(next.log_far + normal(&state)));
        if (t % 3 == 0) next = random_scene(&d, &state);
        const double ratio = scene_ratio(&d, &next);
        if (ratio <= w->ratio) continue;
        w->ratio = ratio;
        now = next;
    }
    r->tightest = fmax(r->tightest, w->ratio / w->lambda);
}

/* ---- the cost */
/* the least of several */
static double seconds(agg_rule rule, size_t n, size_t dim, const float *data, double patience) {
    static float out[BIG_DIM];
    const float *rows[BIG_N];
    agg_desc d = agg_make_desc(rule, n, dim, n / 5);
    const size_t size = agg_scratch_size(&d);
    void *scratch = malloc(size);
    double best = 1e9, spent = 0;
    for (size_t i = 0; i < n; i++) rows[i] = data + i * dim;
    for (int i = 0; i < 3 || (spent < patience && i < 200); i++) {
        const double from = paper_cpu();
        if (agg_aggregate(&d, rows, out, scratch, size, NULL) > AGG_INEXACT) exit(1);
        const double took = paper_cpu() - from;
        best = fmin(best, took);
        spent += took;
    }
    free(scratch);
    return best;
}

static void measure_cost(cost *c, agg_rule rule, const float *data, double patience) {
    for (int i = 0; i < SIZES; i++) {
        c->n[i] = seconds(rule, size_n[i], FIX_DIM, data, patience);
        c->dim[i] = seconds(rule, FIX_N, size_dim[i], data, patience);
    }
    double x[SIZES];
    for (int i = 0; i < SIZES; i++) x[i] = (double)size_n[i];
    c->in_n = paper_line(x, c->n, SIZES);
    for (int i = 0; i < SIZES; i++) x[i] = (double)size_dim[i];
    c->in_dim = paper_line(x, c->dim, SIZES);
}

static void measure(found r[RULES], int quick) {
    const size_t starts = quick ? 4 : 24, steps = quick ? 400 : 1500, lowest = quick ? MAX_N : 3;
    const size_t cells = (size_t)FIX_N * BIG_DIM;
    float *data = (float *)malloc(cells * sizeof *data);
    uint64_t state = 7;
    paper_progress p;
    if (!data) exit(1);
    for (size_t i = 0; i < cells; i++) data[i] = (float)normal(&state);
    paper_progress_start(&p, RULES * (double)(MAX_N - lowest + 2));
    for (int k = 0; k < RULES; k++) {
        for (size_t n = lowest; n <= MAX_N; n++, paper_progress_add(&p, 1))
            for (size_t f = 1; 2 * f < n; f++)
                attack(&r[k], table[k].rule, n, f, n < MAX_N ? starts / 4 : starts, steps);
        for (size_t i = 0; i < SCENES; i++)
            attack_many(&r[k], table[k].rule, i, (quick ? 6000 : 60000) / scene_n[i]);
        measure_cost(&r[k].cost, table[k].rule, data, quick ? 0.02 : 0.2);
        paper_progress_add(&p, 1);
    }
    free(data);
}

/* ---- what to show */
static void print_rule(paper_claims *c, const found *r, int k) {
    const char *order = agg_rule_is_order_optimal(table[k].rule) ? "yes" : "no";
    paper_row_name(c, 7, agg_rule_name(table[k].rule));
    for (int f = 1; f <= MAX_F; f++)
        paper_cell(c, 15, "%.3f / %.3f", r->at[MAX_N][f].ratio, r->at[MAX_N][f].lambda);
    paper_cell(c, 33, "%.1f %%", 100 * r->tightest);
    paper_cell(c, 19, "%s", table[k].cost);
    paper_cell(c, 16, "d^%.2f N^%.2f", r->cost.in_dim.value, r->cost.in_n.value);
    paper_cell(c, 14, "%s", order);
    paper_row_end(c, 0);
}

static void print_scenes(paper_claims *c, const found r[RULES]) {
    paper_note(c, "More rows, f = (N-1)/2, d = N-f+1: the largest ratio / lambda of an adversary "
                  "with groups of rows at several scales.\n");
    paper_row_name(c, 7, "rule");
    for (int i = 0; i < SCENES; i++) paper_cell(c, 15, "N = %d", (int)scene_n[i]);
    paper_row_end(c, SCENES);
    for (int k = 0; k < RULES; k++) {
        paper_row_name(c, 7, agg_rule_name(table[k].rule));
        for (int i = 0; i < SCENES; i++)
            paper_cell(c, 15, "%.3f / %.3f", r[k].scene[i].ratio, r[k].scene[i].lambda);
        paper_row_end(c, 0);
    }
}

static void print_tables(paper_claims *c, const found r[RULES]) {
    paper_note(c,
               "N = %d, f = 1 .. %d: the largest ratio found / lambda (d is 1, 2 or 4, where it "
               "came nearest).\n",
               MAX_N, MAX_F);
    paper_row_name(c, 7, "rule");
    for (int f = 1; f <= MAX_F; f++) paper_cell(c, 15, "f = %d", f);
    paper_cell(c, 33, "nearest to lambda, any N <= %d", SCENE_N);
    paper_cell(c, 19, "cost by the paper");
    paper_cell(c, 16, "measured");
    paper_cell(c, 14, "order-optimal");
    paper_row_end(c, MAX_F + 5);
    for (int k = 0; k < RULES; k++) print_rule(c, &r[k], k);
    print_scenes(c, r);
    paper_note(c,
               "Cost: least thread CPU time of several calls, f = N/5, rows of independent normal "
               "numbers; exponents by least squares over N = %d .. %d at d = %d and d = %d .. %d "
               "at N = %d. A bound is not a law for small sizes: parts that grow more slowly pull "
               "the exponents down, caches push them up.",
               (int)size_n[0], BIG_N, FIX_DIM, (int)size_dim[0], BIG_DIM, FIX_N);
}

/* 1 if lambda is a bound everywhere */
static int print_claims(paper_claims *c, const found r[RULES]) {
    int sound = 1;
    for (int k = 0; k < RULES; k++) {
        char claim[160];
        const double n = r[k].cost.in_n.value, d = r[k].cost.in_dim.value;
        const int square = table[k].rule == AGG_KRUM;
        snprintf(claim, sizeof claim, "%s: no instance exceeds lambda",
                 agg_rule_name(table[k].rule));
        paper_claim(c, r[k].tightest <= 1.00001, claim, "nearest: %.2f %% of lambda",
                    100 * r[k].tightest);
        sound &= r[k].tightest <= 1.00001;
        snprintf(claim, sizeof claim, "%s: costs %s", agg_rule_name(table[k].rule), table[k].cost);
        if (table[k].rule == AGG_MDA)
            paper_claim(c, n < 3 && d < 1.3,
                        "MDA: NP-hard, yet usable (the worst case was not looked for)",
                        "d^%.2f N^%.2f on these rows; %.1f ms at N = %d, f = %d", d, n,
                        1e3 * r[k].cost.n[SIZES - 1], BIG_N, BIG_N / 5);
        else
            paper_claim(c, fabs(d - 1) < 0.25 && fabs(n - (square ? 2 : 1)) < 0.25, claim,
                        "d^%.2f N^%.2f; %.2f ms at N = %d, d = %d%s", d, n,
                        1e3 * r[k].cost.n[SIZES - 1], BIG_N, FIX_DIM, table[k].remark);
    }
    return sound;
}

/* the bound and what was found, against f */
static void draw_ratio(plot *p, const found *r, int k) {
    double f[MAX_F], zero[MAX_F] = {0}, ratio[MAX_F], lambda[MAX_F], nearest = 0;
    char title[64];
    for (int i = 0; i < MAX_F; i++) {
        const worst *w = &r->at[MAX_N][i + 1];
        f[i] = i + 1;
        ratio[i] = w->ratio;
        lambda[i] = w->lambda;
        nearest = fmax(nearest, w->ratio / w->lambda);
    }
    snprintf(title, sizeof title, "%s: %.0f %% of lambda", agg_rule_name(table[k].rule),
             100 * nearest);
    const plot_curve two[2] = {
        {"found", MAX_F, f, ratio, zero, ratio, k, 0},
        {"lambda", MAX_F, f, lambda, NULL, NULL, 7, 1}}; /* on top: both are seen */
    const plot_chart chart = {
        title, "f", k % 3 ? NULL : "ratio", {1, 4, 0}, {0, k < 3 ? 1.5 : 3, 0}, two, 2};
    const plot_box page = plot_make_box(14, 66, 872, 410);
    plot_curves(p, plot_cell(page, 2, 3, (size_t)k / 3, (size_t)k % 3), &chart);
}

/* side 0: against N; 1: against d */
static void draw_cost(plot *p, const found r[RULES], size_t side) {
    const size_t *size = side ? size_dim : size_n;
    double x[SIZES], ms[RULES][SIZES];
    plot_curve curve[RULES];
    char title[64];
    for (int i = 0; i < SIZES; i++) x[i] = (double)size[i];
    for (int k = 0; k < RULES; k++) {
        const plot_curve one = {agg_rule_name(table[k].rule), SIZES, x, ms[k], NULL, NULL, k, 0};
        curve[k] = one;
        for (int i = 0; i < SIZES; i++) ms[k][i] = 1e3 * (side ? r[k].cost.dim[i] : r[k].cost.n[i]);
    }
    snprintf(title, sizeof title, side ? "cost against d, N = %d" : "cost against N, d = %d",
             side ? FIX_N : FIX_DIM);
    const plot_scale sx = {x[0], x[SIZES - 1], 1}, sy = {0.01, 20, 1};
    const plot_chart chart = {title, side ? "d" : "N", side ? NULL : "ms", sx, sy, curve, RULES};
    plot_curves(p, plot_cell(plot_make_box(14, 500, 872, 250), 1, 2, 0, side), &chart);
    if (side) plot_legend(p, 66, 494, curve, RULES);
}

static int draw(const char *path, const found r[RULES]) {
    plot p;
    if (paper_figure(&p, path, 900, 760, "Table 1: lambda, the worst case found, and the cost") !=
        0)
        return -1;
    plot_text(&p, 20, 54, PLOT_LEFT, "note",
              "||F - mean_G|| / diam_G for N = 10 against f: the bound lambda (dashed), and "
              "the most an optimising adversary reaches (solid)");
    for (int k = 0; k < RULES; k++) draw_ratio(&p, &r[k], k);
    for (size_t side = 0; side < 2; side++) draw_cost(&p, r, side);
    return plot_close(&p);
}

int main(int argc, char **argv) {
    static found r[RULES];
    paper_claims c;
    char md[64], svg[64];
    const int quick = paper_quick(argc, argv,
                                  "usage: table1 [--quick]\n"
                                  "Measures the paper's table 1: writes build/table1.md and "
                                  "build/table1.svg. --quick: build/table1_quick.*\n");
    const double from = paper_wall();
    measure(r, quick);
    if (paper_claims_open(&c, paper_path(md, "table1", quick, "md"),
                          "Table 1: resilience and cost of the rules") != 0)
        return fprintf(stderr, "cannot write build/table1.md\n"), 1;
    print_tables(&c, r);
    const int sound = print_claims(&c, r);
    paper_note(&c, "%s, %.0f s.", quick ? "Quick version" : "Full version", paper_wall() - from);
    if (paper_claims_close(&c) != 0 || draw(paper_path(svg, "table1", quick, "svg"), r) != 0)
        return fprintf(stderr, "cannot write\n"), 1;
    return sound ? 0 : 1;
}
