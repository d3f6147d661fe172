/* How near is every rule to what the machine can do, and how long can an adversary make it take?
   For each rule and size, one thread:
     ours      harmless rows
     limit     a bare read of the rows, or, where all pairs of rows are compared, n^2 d/2
               multiplications and additions at the measured peak, whichever is longer
     weights   as times ours: what it takes if the report is asked for the rows' weights
     hostile   the slowest of the inputs of inputs.h, as times the harmless rows, and its name
   then a verdict for each goal, and the table of worst times for the documentation of the header.
   Others use the machine too: contenders take turns, the thread's own clock counts, and the least
   time. BENCH_QUICK=1 shortens it. */
#include "bench.h"
#include "contenders.h"

/* ---- 1 sizes and goals */
typedef struct plan {
    size size;
    const char *only; /* this contender; NULL = all */
    int documented;   /* stands in the header's table */
} plan;

static const plan full[] = {
    {{10, 3, 1000000}, NULL, 1},  {{50, 15, 100000}, NULL, 0},
    {{100, 30, 100000}, NULL, 1}, {{1000, 400, 1000}, NULL, 1}, /* Bulyan: f = 249 */
    {{500, 150, 1000}, "CAF", 0}, {{10, 3, 386}, NULL, 0},      /* the paper's network */
};
static const plan quick[] = {
    {{10, 3, 50000}, NULL, 1}, {{50, 15, 2000}, NULL, 1}, {{10, 3, 386}, NULL, 1}};

enum { MOST_SIZES = 8 };

typedef enum measure {
    OF_LIMIT, /* times the limit */
    OF_MEAN,  /* times a plain loop for the mean */
    BESIDE,   /* ms beside the distances */
    IN_MS
} measure;

typedef struct goal {
    const char *contender;
    size_t n, dim;
    measure by;
    double most;
} goal;

/* clang-format off */
static const goal goals[] = {
    {"mean",       10,   1000000, OF_LIMIT,    1.15},
    {"mean",       50,   100000,  OF_LIMIT,    1.15},
    {"mean",       100,  100000,  OF_LIMIT,    1.15},
    {"CWMed",      10,   1000000, OF_MEAN,     1.5},
    {"CWTM",       10,   1000000, OF_MEAN,     1.5},
    {"MeaMed",     10,   1000000, OF_MEAN,     2.0},
    {"Krum",       50,   100000,  OF_LIMIT,    1.5},
    {"Krum",       100,  100000,  OF_LIMIT,    1.5},
    {"NNM + mean", 100,  100000,  OF_LIMIT,    1.3},
    {"GM",         1000, 1000,    BESIDE,      20},
    {"Bulyan",     1000, 1000,    IN_MS,       1000},
    {"CAF",        500,  1000,    IN_MS,       310},
    {"mean",       10,   386,     IN_MS,       0.0004},
    {"CWMed",      10,   386,     IN_MS,       0.0012},
    {"Krum",       10,   386,     IN_MS,       0.003},
    {"MDA",        10,   386,     IN_MS,       0.003},
    {"GM",         10,   386,     IN_MS,       0.008},
};
/* clang-format on */
enum { GOALS = sizeof goals / sizeof *goals };

static const double hostile_goal = 2; /* times harmless, everywhere */

/* ---- 2 results */
typedef struct options {
    const char *only; /* contender */
    plan given;       /* n = 0: the sizes above */
    unsigned cut;     /* seconds after which a call is broken off */
    int hostile, matrix;
} options;

typedef struct result {
    double ours, read, mean; /* seconds; ours is infinite if it was broken off, 0 if not timed */
    double weights;          /* seconds, weights asked for */
    double hostile;          /* slowest hostile input over harmless */
    const char *worst;       /* its name */
    double ratio[INPUTS];    /* of each */
} result;

typedef struct bench {
    options want;
    plan plan[MOST_SIZES];
    int sizes;
    result result[MOST_SIZES][CONTENDERS];
    double distances[MOST_SIZES]; /* seconds of the pass over all pairs */
    double peak;
    double told; /* when progress was last shown */
} bench;

static void progress(bench *b, const char *what, const size *z) {
    if (bench_now() - b->told < 2) return;
    b->told = bench_now();
    fprintf(stderr, "  ... %s, n=%d d=%d\n", what, (int)z->n, (int)z->dim);
}

static double limit_of(const bench *b, int z, int c) {
    double read = 0;
    for (int i = 0; i < CONTENDERS; i++)
        if (b->result[z][i].read > 0) keep_least(&read, b->result[z][i].read);
    return fmax(read, limit_arithmetic(contenders[c].needs, &b->plan[z].size, b->peak));
}

static double plain_mean(const bench *b, int z) {
    double mean = 0;
    for (int i = 0; i < CONTENDERS; i++)
        if (b->result[z][i].mean > 0) keep_least(&mean, b->result[z][i].mean);
    return mean;
}

/* ---- 3 measuring */
static double seconds_or(double in_full, double in_quick) {
    return bench_quick() ? in_quick : in_full;
}

/* A plain loop for the mean of the columns from .. from+width, the yardstick of rules that read
   each column once. A narrow one keeps its sums in registers and reads all rows side by side, a
   wide one reads row after row and keeps them in the first cache. */
enum { NARROW = 64, WIDE = 2048 };

#define MEAN_OF(name, width)                                                                       \
    static void name(const rows *r, size_t from, agg_real *out) {                                  \
        const agg_real scale = 1 / (agg_real)r->n;                                                 \
        agg_real sum[width] = {0};                                                                 \
        for (size_t i = 0; i < r->n; i++) {                                                        \
            const agg_real *x = r->honest + i * r->dim + from;                                     \
            for (size_t k = 0; k < (width); k++) sum[k] += x[k];                                   \
        }                                                                                          \
        for (size_t k = 0; k < (width); k++) out[from + k] = sum[k] * scale;                       \
    }
MEAN_OF(mean_narrow, NARROW)
MEAN_OF(mean_wide, WIDE)

static double mean_seconds(const rows *r, agg_real *out) {
    const double start = bench_cpu();
    for (size_t k = 0; k + NARROW <= r->dim; k += NARROW) mean_narrow(r, k, out);
    const double middle = bench_cpu();
    if (r->dim < 10 * WIDE) return middle - start;
    for (size_t k = 0; k + WIDE <= r->dim; k += WIDE) mean_wide(r, k, out);
    return fmin(middle - start, bench_cpu() - middle);
}

static void time_ours(const bench *b, rows *r, job *j, result *out) {
    const double begin = bench_cpu(), budget = seconds_or(0.5, 0.04);
    rows_point(r, j->desc.f);
    out->ours = job_seconds(j, r->row, 1, b->want.cut);
    if (!isfinite(out->ours)) return;
    const int times = job_calls_a_sample(out->ours);
    for (int i = 0; i < 3 || bench_cpu() - begin < budget; i++) {
        keep_least(&out->read, limit_read(r->honest, r->n * r->dim, times));
        keep_least(&out->mean, mean_seconds(r, j->out));
        keep_least(&out->ours, job_seconds(j, r->row, times, b->want.cut));
        j->report.weight = j->weight;
        keep_least(&out->weights, job_seconds(j, r->row, times, b->want.cut));
        j->report.weight = NULL;
        if (bench_cpu() - begin > 4 * budget) return;
    }
}

/* hostile and harmless in turns */
static double hostile_ratio(const bench *b, rows *harmless, rows *hostile, job *j, double budget) {
    double begin = bench_cpu(), h = 0, e = 0;
    rows_point(harmless, j->desc.f);
    rows_point(hostile, j->desc.f);
    const int times = job_calls_a_sample(job_seconds(j, harmless->row, 1, b->want.cut));
    for (int i = 0; i < 3 || bench_cpu() - begin < budget; i++) {
        keep_least(&h, job_seconds(j, harmless->row, times, b->want.cut));
        keep_least(&e, job_seconds(j, hostile->row, times, b->want.cut));
        if (bench_cpu() - begin > 5 * budget) break;
    }
    return e / h;
}

/* Near the goal it looks again, longer: it may have been a neighbour's fault. */
static double careful_ratio(const bench *b, rows *harmless, rows *hostile, job *j) {
    const double budget = seconds_or(0.1, 0.005);
    const double ratio = hostile_ratio(b, harmless, hostile, j, budget);
    if (ratio < 0.9 * hostile_goal || ratio > 2 * hostile_goal) return ratio;
    return fmin(ratio, hostile_ratio(b, harmless, hostile, j, 4 * budget));
}

static void note_ratio(result *out, int i, double ratio) {
    out->ratio[i] = ratio;
    if (ratio <= out->hostile) return;
    out->hostile = ratio;
    out->worst = inputs[i].name;
}

/* slower ones would take an hour with all inputs */
static int too_slow_for_hostile(const result *r) { return r->ours > seconds_or(1, 0.1); }

static void time_hostile(bench *b, const plan *p, rows *harmless, job **j, result *out) {
    rows hostile = rows_make(p->size.n, p->size.f, p->size.dim);
    for (int i = 1; i < INPUTS; i++) {
        if (!input_applies(&inputs[i], &hostile)) continue;
        rows_fill(&hostile, &inputs[i], 2);
        for (int c = 0; c < CONTENDERS; c++) {
            if (!j[c] || too_slow_for_hostile(&out[c])) continue;
            progress(b, inputs[i].name, &p->size);
            note_ratio(&out[c], i, careful_ratio(b, harmless, &hostile, j[c]));
        }
    }
    rows_free(&hostile);
}

/* what Krum takes more for all columns than for one */
static double distance_seconds(const bench *b, rows *r, const result *krum) {
    const size one = {r->n, r->f, 1};
    job *j = job_make(&contenders[contender_named("Krum")], &one);
    double rest = 0;
    rows_point(r, j->desc.f);
    for (int i = 0; i < 5; i++) keep_least(&rest, job_seconds(j, r->row, 1, b->want.cut));
    job_free(j);
    return fmax(krum->ours - rest, 0);
}

static int wanted(const bench *b, const plan *p, const char *name) {
    return (!p->only || strcmp(p->only, name) == 0) &&
           (!b->want.only || strcmp(b->want.only, name) == 0);
}

static void measure_size(bench *b, int z) {
    const plan *p = &b->plan[z];
    job *j[CONTENDERS];
    rows harmless = rows_make(p->size.n, p->size.f, p->size.dim);
    rows_fill(&harmless, &inputs[0], 1);
    b->peak = limit_peak();
    for (int c = 0; c < CONTENDERS; c++) {
        j[c] = wanted(b, p, contenders[c].name) ? job_make(&contenders[c], &p->size) : NULL;
        progress(b, contenders[c].name, &p->size);
        if (j[c]) time_ours(b, &harmless, j[c], &b->result[z][c]);
    }
    b->distances[z] = distance_seconds(b, &harmless, &b->result[z][contender_named("Krum")]);
    if (b->want.hostile) time_hostile(b, p, &harmless, j, b->result[z]);
    for (int c = 0; c < CONTENDERS; c++)
        if (j[c]) job_free(j[c]);
    rows_free(&harmless);
}

/* ---- 4 what is printed for a size */
/* three digits, in ms or us */
static const char *show(double seconds, char text[32]) {
    const double ms = seconds * 1e3, shown = ms < 0.1 ? ms * 1e3 : ms;
    if (!isfinite(seconds)) return "-";
    snprintf(text, 32, "%.*f %s",
             shown < 10    ? 2
             : shown < 100 ? 1
                           : 0,
             shown, ms < 0.1 ? "us" : "ms");
    return text;
}

static void print_contender(const bench *b, int z, int c) {
    const result *r = &b->result[z][c];
    const double limit = limit_of(b, z, c);
    char ours[32], least[32];
    printf("  %-20s%10s%10s", contenders[c].name, show(r->ours, ours), show(limit, least));
    if (!isfinite(r->ours))
        printf("%8s            broken off after %u s", "-", b->want.cut);
    else
        printf("%8.2f%9.2f", r->ours / limit, r->weights / r->ours);
    if (r->worst)
        printf("   %6.2f  %s", r->hostile, r->worst);
    else if (isfinite(r->ours) && b->want.hostile)
        printf("   not tried, too slow");
    printf("\n");
}

static void print_size(const bench *b, int z) {
    const size *s = &b->plan[z].size;
    char head[64];
    snprintf(head, sizeof head, "n=%d f=%d d=%d", (int)s->n, (int)s->f, (int)s->dim);
    printf("\n%-22s%10s%10s%8s%9s   hostile/harmless (inf: broken off)\n", head, "ours", "limit",
           "ratio", "weights");
    const double loop = plain_mean(b, z), limit = limit_of(b, z, contender_named("mean"));
    char mean[32], least[32];
    printf("  %-20s%10s%10s%8.2f\n", "(mean, a plain loop)", show(loop, mean), show(limit, least),
           loop / limit);
    for (int c = 0; c < CONTENDERS; c++)
        if (b->result[z][c].ours > 0) print_contender(b, z, c);
    fflush(stdout);
}

/* hostile/harmless of every input */
static void print_matrix(const result *all) {
    printf("\n  hostile/harmless of every input:");
    for (int i = 1; i < INPUTS; i++)
        printf("%s%c %s", i % 6 == 1 ? "\n    " : "  ", 'a' + i - 1, inputs[i].name);
    printf("\n%22s", "");
    for (int i = 1; i < INPUTS; i++) printf("%5c", 'a' + i - 1);
    for (int c = 0; c < CONTENDERS; c++) {
        if (!all[c].worst) continue;
        printf("\n  %-20s", contenders[c].name);
        for (int i = 1; i < INPUTS; i++) printf(" %4.*f", all[c].ratio[i] < 10, all[c].ratio[i]);
    }
    printf("\n");
}

/* ---- 5 verdicts */
static const char *const measure_text[] = {"times the limit", "times a plain mean",
                                           "ms beside the distances", "ms"};

static double reached(const bench *b, int z, int c, measure by) {
    const double ours = b->result[z][c].ours;
    switch (by) {
    case OF_LIMIT: return ours / limit_of(b, z, c);
    case OF_MEAN: return ours / plain_mean(b, z);
    case BESIDE: return 1e3 * (ours - b->distances[z]);
    case IN_MS: break;
    }
    return 1e3 * ours;
}

static void print_goal(const bench *b, const goal *g) {
    const int c = contender_named(g->contender);
    for (int z = 0; z < b->sizes; z++) {
        const size *s = &b->plan[z].size;
        if (s->n != g->n || s->dim != g->dim || b->result[z][c].ours <= 0) continue;
        const double got = reached(b, z, c, g->by);
        printf("  %-7s %-11s n=%-5d d=%-8d %9.4g %s, goal %g\n",
               got <= g->most ? "holds" : "MISSED", g->contender, (int)s->n, (int)s->dim, got,
               measure_text[g->by], g->most);
    }
}

static void print_hostile_goal(const bench *b) {
    int held = 0, tried = 0;
    for (int z = 0; z < b->sizes; z++)
        for (int c = 0; c < CONTENDERS; c++) {
            const result *r = &b->result[z][c];
            const size *s = &b->plan[z].size;
            tried += r->worst != NULL;
            held += r->worst && r->hostile <= hostile_goal;
            if (r->worst && r->hostile > hostile_goal)
                printf("  MISSED  %-18s n=%-5d d=%-8d %6.3g times harmless (%s), goal %g\n",
                       contenders[c].name, (int)s->n, (int)s->dim, r->hostile, r->worst,
                       hostile_goal);
        }
    printf("  hostile at most %g times harmless: holds for %d of %d\n", hostile_goal, held, tried);
}

static void print_verdicts(const bench *b) {
    printf("\ngoals\n");
    for (int g = 0; sizeof(agg_real) == sizeof(float) && g < GOALS; g++) print_goal(b, &goals[g]);
    if (b->want.hostile) print_hostile_goal(b);
}

/* ---- 6 the table for the header's documentation */
static void print_cell(const result *r, unsigned cut) {
    if (!isfinite(r->ours))
        printf(" >%7u %-6s", 1000 * cut, "");
    else
        printf(" %8.3g x%-5.1f", r->ours * 1e3, r->hostile);
}

static void print_documented_row(const bench *b, int c) {
    const char *worst = "-";
    double most = 1.2; /* less is noise */
    printf("                %-18s", contenders[c].name);
    for (int z = 0; z < b->sizes; z++) {
        const result *r = &b->result[z][c];
        if (!b->plan[z].documented) continue;
        print_cell(r, b->want.cut);
        if (r->hostile > most) most = r->hostile, worst = r->worst;
    }
    printf(" %s\n", worst);
}

/* as it stands at the top of aggregators.h */
static void print_documented(const bench *b) {
    static const char *const text[] = {
        "TIME         what an adversary can make you wait: milliseconds for n x dim harmless rows",
        "             (normal, f of them shifted), and how many times as long the slowest of "
        "fifteen",
        "             hostile inputs takes: giants of 1e30, in all numbers or in the last; rows "
        "all",
        "             equal, all 0, of small integers, of denormals; f rows equal, or nearly so, "
        "far",
        "             away; two tight clusters, or five at scales of 1e-6 to 1e6; an offset of 1e4",
        "             times the spread; f rows missing, of NaN, or with NaN at the end; a graph of",
        "             far pairs that is hard for MDA. One thread of an AMD EPYC, float, gcc -O2,",
        "             f = 0.3 n (0.4 n of 1000) or what the rule survives (`make bench`):",
    };
    printf("\nfor the documentation of aggregators.h:\n\n");
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) printf("   %s\n", text[i]);
    printf("                %-18s", "");
    for (int z = 0; z < b->sizes; z++)
        if (b->plan[z].documented)
            printf(" %5d x %-7d", (int)b->plan[z].size.n, (int)b->plan[z].size.dim);
    printf(" slowest input\n");
    for (int c = 0; c < CONTENDERS; c++)
        if (wanted(b, &b->plan[0], contenders[c].name)) print_documented_row(b, c);
}

/* ---- 7 options */
static void usage(void) {
    printf("usage: rules [--only rule] [--size n,f,dim] [--cut seconds] [--no-hostile | --all]\n"
           "Times every rule of aggregators.h beside the limits of this machine, on harmless and "
           "on hostile rows.\n"
           "  --only R      this rule alone, named as in the tables\n"
           "  --size n,f,d  this size alone\n"
           "  --cut s       break calls off after s seconds (5)\n"
           "  --no-hostile  harmless rows only\n"
           "  --all         hostile/harmless of every input, not only of the slowest\n"
           "BENCH_QUICK=1: shorter.\n");
}

static int read_switch(options *o, const char *name) {
    const int no = strcmp(name, "--no-hostile") == 0, all = strcmp(name, "--all") == 0;
    if (no) o->hostile = 0;
    if (all) o->matrix = 1;
    return no || all;
}

static int read_value(options *o, const char *name, const char *value) {
    int n, f, dim;
    if (strcmp(name, "--only") == 0) {
        o->only = value;
        return contender_named(value) < CONTENDERS;
    }
    if (strcmp(name, "--cut") == 0) return (o->cut = (unsigned)atoi(value)) > 0;
    if (strcmp(name, "--size") != 0 || sscanf(value, "%d,%d,%d", &n, &f, &dim) != 3) return 0;
    o->given.size.n = (size_t)n;
    o->given.size.f = (size_t)f;
    o->given.size.dim = (size_t)dim;
    o->given.documented = 1;
    return n > 2 * f && f >= 0 && dim > 0;
}

static int read_options(options *o, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (read_switch(o, argv[i])) continue;
        if (i + 1 == argc || !read_value(o, argv[i], argv[i + 1])) return 0;
        i++;
    }
    return 1;
}

static void choose_sizes(bench *b) {
    const plan *list = bench_quick() ? quick : full;
    b->sizes = (int)((bench_quick() ? sizeof quick : sizeof full) / sizeof *list);
    if (b->want.given.size.n) list = &b->want.given, b->sizes = 1;
    memcpy(b->plan, list, (size_t)b->sizes * sizeof *list);
}

int main(int argc, char **argv) {
    static bench b;
    const char *with;
    b.want.cut = 5;
    b.want.hostile = 1;
    if (!read_options(&b.want, argc, argv)) {
        usage();
        return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : 2;
    }
    b.told = bench_now();
    choose_sizes(&b);
    bench_print_build();
    printf("%s, peak %.1f G multiplications and additions/s (",
           sizeof(agg_real) == 4 ? "float" : "double",
           bench_product_peak(sizeof(agg_real), &with) * 1e-9);
    printf("%s)\n", with);
    for (int z = 0; z < b.sizes; z++) {
        if (b.want.only && b.plan[z].only && strcmp(b.want.only, b.plan[z].only) != 0) continue;
        measure_size(&b, z);
        print_size(&b, z);
        if (b.want.matrix) print_matrix(b.result[z]);
    }
    print_verdicts(&b);
    if (b.want.hostile) print_documented(&b);
    return 0;
}
