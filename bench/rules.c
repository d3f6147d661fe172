/* How near is every rule to what the machine can do, and how long can an adversary make it take?
   For each rule and size, one thread:
     ours      harmless rows
     limit     a bare read of the rows, or, where all pairs of rows are compared, n^2 d/2
               multiplications and additions at the measured peak, whichever is longer
     hostile   the slowest of the inputs of inputs.h, as times the harmless rows, and its name
   then a verdict for each goal, and the table of worst times for the documentation of the header.
   Others use the machine too: contenders take turns, the thread's own clock counts, and the least
   time. BENCH_QUICK=1 shortens it. Built as a shared library it gives peers.py our times. */
#include "bench.h"
#define AGGREGATORS_IMPLEMENTATION
#include "aggregators.h"
#include "inputs.h"
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

/* ---- 1 what is timed */
typedef enum cost { READ, PAIRS, PAIRS_AND_MIX } cost; /* what limits it */

typedef struct contender {
    const char *name;
    agg_rule rule;
    agg_pre pre;
    cost needs;
    int start; /* CClip: from a given vector, not from the median */
} contender;

static const contender contenders[] = {
    {"mean", AGG_MEAN, AGG_PRE_NONE, READ, 0},
    {"CWMed", AGG_CWMED, AGG_PRE_NONE, READ, 0},
    {"CWTM", AGG_CWTM, AGG_PRE_NONE, READ, 0},
    {"MeaMed", AGG_MEAMED, AGG_PRE_NONE, READ, 0},
    {"CGE", AGG_CGE, AGG_PRE_NONE, READ, 0},
    {"MoNNA", AGG_MONNA, AGG_PRE_NONE, READ, 0},
    {"CClip", AGG_CCLIP, AGG_PRE_NONE, READ, 0},
    {"CClip, start given", AGG_CCLIP, AGG_PRE_NONE, READ, 1},
    {"Krum", AGG_KRUM, AGG_PRE_NONE, PAIRS, 0},
    {"Multi-Krum", AGG_MULTI_KRUM, AGG_PRE_NONE, PAIRS, 0},
    {"MDA", AGG_MDA, AGG_PRE_NONE, PAIRS, 0},
    {"GM", AGG_GM, AGG_PRE_NONE, PAIRS, 0},
    {"Bulyan", AGG_BULYAN, AGG_PRE_NONE, PAIRS, 0},
    {"CAF", AGG_CAF, AGG_PRE_NONE, PAIRS, 0},
    {"SMEA", AGG_SMEA, AGG_PRE_NONE, PAIRS, 0},
    {"NNM + mean", AGG_MEAN, AGG_PRE_NNM, PAIRS_AND_MIX, 0},
    {"bucketing + mean", AGG_MEAN, AGG_PRE_BUCKETING, READ, 0},
    {"clipping + mean", AGG_MEAN, AGG_PRE_CLIP, READ, 0},
    {"ARC + mean", AGG_MEAN, AGG_PRE_ARC, READ, 0},
};

enum { CONTENDERS = sizeof contenders / sizeof *contenders };

typedef struct size {
    size_t n, f, dim;
    const char *only; /* this contender; NULL = all */
} size;

static const size full_sizes[] = {{10, 3, 1000000, NULL},  {50, 15, 100000, NULL},
                                  {100, 30, 100000, NULL}, {1000, 400, 1000, NULL},
                                  {500, 150, 1000, "CAF"}, {10, 3, 386, NULL}};
static const size quick_sizes[] = {
    {10, 3, 100000, NULL}, {50, 15, 10000, NULL}, {10, 3, 386, NULL}};

enum { MOST_SIZES = 8 };

typedef struct options {
    const char *only; /* contender */
    size given;       /* n = 0: the sizes above */
    unsigned cut;     /* seconds after which a call is broken off */
    int hostile, matrix;
} options;

/* ---- 2 one call */
typedef struct job {
    agg_desc desc;
    agg_real *out, *start;
    void *scratch;
    size_t scratch_size;
    uint64_t seed;
} job;

static uint64_t next_random(void *self) { return bench_random((uint64_t *)self); }

/* f is lowered to what the rule survives */
static job *job_make(const contender *c, const size *z) {
    job *j = (job *)bench_alloc(1, sizeof *j);
    agg_desc *d = &j->desc;
    *d = agg_make_desc(c->rule, z->n, z->dim, z->f);
    j->start = (agg_real *)bench_alloc(z->dim, sizeof *j->start);
    j->out = (agg_real *)bench_alloc(z->dim, sizeof *j->out);
    d->pre[0] = c->pre;
    d->clip = 0.5 * sqrt((double)z->dim);
    d->start = c->start ? j->start : NULL;
    d->rng.next = next_random;
    d->rng.self = &j->seed;
    while (d->f > 0 && agg_scratch_size(d) == 0) d->f--;
    j->scratch_size = agg_scratch_size(d);
    j->scratch = bench_alloc(j->scratch_size, 1);
    memset(j->scratch, 1, j->scratch_size); /* the pages must be there before the clock runs */
    return j;
}

static void job_free(job *j) {
    free(j->start);
    free(j->out);
    free(j->scratch);
    free(j);
}

/* The header allocates nothing and locks nothing, so a call may be left by a jump. */
static sigjmp_buf too_long;

static void on_alarm(int signal_number) {
    (void)signal_number;
    siglongjmp(too_long, 1);
}

static void catch_alarm(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_alarm;
    sigaction(SIGALRM, &action, NULL);
}

static void call(job *j, const agg_real *const *row) {
    agg_status s = agg_aggregate(&j->desc, row, j->out, j->scratch, j->scratch_size, NULL);
    if (s <= AGG_INEXACT) return;
    fprintf(stderr, "%s n=%d f=%d: %s\n", agg_rule_name(j->desc.rule), (int)j->desc.n,
            (int)j->desc.f, agg_status_text(s));
    exit(1);
}

/* this thread's seconds for one call, the average of some; infinite if it was broken off */
static double seconds_of(job *j, const agg_real *const *row, int times, unsigned cut) {
    if (sigsetjmp(too_long, 1)) return INFINITY;
    alarm(cut);
    double start = bench_cpu();
    for (int i = 0; i < times; i++) call(j, row);
    double seconds = (bench_cpu() - start) / times;
    alarm(0);
    return seconds;
}

/* so many that the clock's own time does not count */
static int calls_a_sample(double seconds) {
    return seconds < 50e-6 ? (int)(50e-6 / (seconds + 1e-7)) + 1 : 1;
}

/* ---- 3 limits */
static double read_seconds(const agg_real *x, size_t count, int times) {
    double start = bench_cpu();
    for (int i = 0; i < times; i++) bench_read(x, count * sizeof *x);
    return (bench_cpu() - start) / times;
}

static double peak; /* multiplications and additions a second */

static double arithmetic_seconds(const contender *c, const size *z) {
    const double n = (double)z->n, pairs = n * n / 2;
    const double mix = c->needs == PAIRS_AND_MIX ? n * (double)(z->n - z->f) : 0;
    return c->needs == READ ? 0 : (pairs + mix) * (double)z->dim / peak;
}

/* ---- 4 the plain mean, the yardstick of rules that read each column once */
enum { COLUMNS = 64 };

static double plain_mean_seconds(const rows *r, agg_real *out) {
    const agg_real scale = 1 / (agg_real)r->n;
    double start = bench_cpu();
    for (size_t k0 = 0; k0 + COLUMNS <= r->dim; k0 += COLUMNS) {
        agg_real sum[COLUMNS] = {0};
        for (size_t i = 0; i < r->n; i++) {
            const agg_real *x = r->honest + i * r->dim + k0;
            for (size_t k = 0; k < COLUMNS; k++) sum[k] += x[k];
        }
        for (size_t k = 0; k < COLUMNS; k++) out[k0 + k] = sum[k] * scale;
    }
    return bench_cpu() - start;
}

/* ---- 5 results */
typedef struct result {
    double ours, read, mean; /* seconds; ours is infinite if it was broken off, 0 if not timed */
    double hostile;          /* slowest hostile input over harmless */
    const char *worst;       /* its name */
    double ratio[INPUTS];    /* of each */
} result;

typedef struct bench {
    options want;
    size size[MOST_SIZES];
    int sizes;
    result result[MOST_SIZES][CONTENDERS];
    double told; /* when progress was last shown */
} bench;

static void progress(bench *b, const char *what, const size *z) {
    if (bench_now() - b->told < 2) return;
    b->told = bench_now();
    fprintf(stderr, "  ... %s, n=%d d=%d\n", what, (int)z->n, (int)z->dim);
}

static void keep_least(double *least, double seconds) {
    if (*least <= 0 || seconds < *least) *least = seconds;
}

static void time_ours(const bench *b, rows *r, job *j, result *out, double budget) {
    double begin = bench_now();
    rows_point(r, j->desc.f);
    out->ours = seconds_of(j, r->row, 1, b->want.cut);
    if (!isfinite(out->ours)) return;
    const int times = calls_a_sample(out->ours);
    for (int i = 0; i < 3 || bench_now() - begin < budget; i++) {
        keep_least(&out->read, read_seconds(r->honest, r->n * r->dim, times));
        keep_least(&out->mean, plain_mean_seconds(r, j->out));
        keep_least(&out->ours, seconds_of(j, r->row, times, b->want.cut));
        if (bench_now() - begin > 4 * budget) return;
    }
}

/* hostile and harmless in turns */
static double hostile_ratio(const bench *b, rows *harmless, rows *hostile, job *j, double budget) {
    double begin = bench_now(), h = 0, e = 0;
    rows_point(harmless, j->desc.f);
    rows_point(hostile, j->desc.f);
    const int times = calls_a_sample(seconds_of(j, harmless->row, 1, b->want.cut));
    for (int i = 0; i < 2 || bench_now() - begin < budget; i++) {
        keep_least(&h, seconds_of(j, harmless->row, times, b->want.cut));
        keep_least(&e, seconds_of(j, hostile->row, times, b->want.cut));
        if (bench_now() - begin > 5 * budget) break;
    }
    return e / h;
}

static int wanted(const bench *b, const size *z, const contender *c) {
    return (!z->only || strcmp(z->only, c->name) == 0) &&
           (!b->want.only || strcmp(b->want.only, c->name) == 0);
}

static double full_or_quick(double full, double quick) { return bench_quick() ? quick : full; }

static const double slow = 1; /* seconds; hostile rows are not tried on slower calls */

static void try_input(bench *b, const input *in, rows *harmless, rows *hostile, job **j,
                      result *out, const size *z) {
    rows_fill(hostile, in, 2);
    for (int c = 0; c < CONTENDERS; c++) {
        if (!j[c] || out[c].ours > slow) continue;
        progress(b, in->name, z);
        double ratio = hostile_ratio(b, harmless, hostile, j[c], full_or_quick(0.1, 0.008));
        if (ratio > 1.8 && ratio < 4) /* look again, longer: it may have been a neighbour's fault */
            ratio =
                fmin(ratio, hostile_ratio(b, harmless, hostile, j[c], full_or_quick(0.4, 0.02)));
        out[c].ratio[in - inputs] = ratio;
        if (ratio <= out[c].hostile) continue;
        out[c].hostile = ratio;
        out[c].worst = in->name;
    }
}

static void measure(bench *b, const size *z, result *out) {
    job *j[CONTENDERS];
    rows harmless = rows_make(z->n, z->f, z->dim), hostile = rows_make(z->n, z->f, z->dim);
    const char *with;
    rows_fill(&harmless, &inputs[0], 1);
    peak = fmax(peak, bench_product_peak(sizeof(agg_real), &with));
    for (int c = 0; c < CONTENDERS; c++) {
        j[c] = wanted(b, z, &contenders[c]) ? job_make(&contenders[c], z) : NULL;
        progress(b, contenders[c].name, z);
        if (j[c]) time_ours(b, &harmless, j[c], &out[c], full_or_quick(0.5, 0.05));
    }
    for (int i = 1; b->want.hostile && i < INPUTS; i++)
        if (input_applies(&inputs[i], &hostile))
            try_input(b, &inputs[i], &harmless, &hostile, j, out, z);
    for (int c = 0; c < CONTENDERS; c++)
        if (j[c]) job_free(j[c]);
    rows_free(&harmless);
    rows_free(&hostile);
}

/* ---- 6 what is printed */
/* three digits, in ms or us */
static const char *show(double seconds, char text[32]) {
    const double ms = seconds * 1e3, shown = ms < 0.1 ? ms * 1e3 : ms;
    if (!isfinite(seconds)) return "cut off";
    snprintf(text, 32, "%.*f %s",
             shown < 10    ? 2
             : shown < 100 ? 1
                           : 0,
             shown, ms < 0.1 ? "us" : "ms");
    return text;
}

static double limit_of(const contender *c, const size *z, const result *all) {
    double read = 0;
    for (int i = 0; i < CONTENDERS; i++)
        if (all[i].read > 0) keep_least(&read, all[i].read);
    return fmax(read, arithmetic_seconds(c, z));
}

static void print_size(const bench *b, const size *z, const result *all) {
    char a[32], l[32];
    printf("\nn=%d f=%d d=%d\n%34s%12s%8s   hostile/harmless\n", (int)z->n, (int)z->f, (int)z->dim,
           "ours", "limit", "ratio");
    for (int c = 0; c < CONTENDERS; c++) {
        const result *r = &all[c];
        const double limit = limit_of(&contenders[c], z, all);
        if (r->ours <= 0) continue;
        printf("  %-20s%12s%12s", contenders[c].name, show(r->ours, a), show(limit, l));
        if (!isfinite(r->ours))
            printf("%8s   took longer than %u s", "-", b->want.cut);
        else
            printf("%8.2f", r->ours / limit);
        if (r->worst) printf("   %5.2f  %s", r->hostile, r->worst);
        if (isfinite(r->ours) && b->want.hostile && !r->worst) printf("   not tried: too slow");
        printf("\n");
    }
    fflush(stdout);
}

/* hostile/harmless of every input */
static void print_matrix(const size *z, const result *all) {
    printf("\nn=%d f=%d d=%d, every input\n", (int)z->n, (int)z->f, (int)z->dim);
    for (int i = 1; i < INPUTS; i++)
        printf("  %c %s%s", 'a' + i - 1, inputs[i].name, i == 7 ? "\n" : "");
    printf("\n%20s", "");
    for (int i = 1; i < INPUTS; i++) printf("%6c", 'a' + i - 1);
    for (int c = 0; c < CONTENDERS; c++) {
        if (!all[c].worst) continue;
        printf("\n  %-18s", contenders[c].name);
        for (int i = 1; i < INPUTS; i++)
            printf(" %5.*f", all[c].ratio[i] < 10 ? 2 : 0, all[c].ratio[i]);
    }
    printf("\n");
}

/* ---- 7 for peers.py: the same calls from a shared library */
typedef struct peers_job {
    job *ours;
    const contender *c;
    size size;
    const agg_real **row;
} peers_job;

peers_job *peers_open(const char *name, size_t n, size_t f, size_t dim, const agg_real *x);
size_t peers_f(const peers_job *p);
double peers_seconds(peers_job *p, int times, unsigned cut, agg_real *out);
double peers_read(const peers_job *p, int times);
double peers_arithmetic(const peers_job *p);
void peers_close(peers_job *p);

/* NULL: there is no such contender. x: n x dim, stays where it is */
peers_job *peers_open(const char *name, size_t n, size_t f, size_t dim, const agg_real *x) {
    int c = 0;
    while (c < CONTENDERS && strcmp(contenders[c].name, name) != 0) c++;
    if (c == CONTENDERS) return NULL;
    peers_job *p = (peers_job *)bench_alloc(1, sizeof *p);
    p->c = &contenders[c];
    p->size.n = n;
    p->size.f = f;
    p->size.dim = dim;
    p->ours = job_make(p->c, &p->size);
    p->row = (const agg_real **)bench_alloc(n, sizeof *p->row);
    for (size_t i = 0; i < n; i++) p->row[i] = x + i * dim;
    return p;
}

size_t peers_f(const peers_job *p) { return p->ours->desc.f; }

double peers_seconds(peers_job *p, int times, unsigned cut, agg_real *out) {
    catch_alarm();
    double seconds = seconds_of(p->ours, p->row, times, cut);
    memcpy(out, p->ours->out, p->size.dim * sizeof *out);
    return seconds;
}

double peers_read(const peers_job *p, int times) {
    return read_seconds(p->row[0], p->size.n * p->size.dim, times);
}

double peers_arithmetic(const peers_job *p) {
    const char *with;
    peak = fmax(peak, bench_product_peak(sizeof(agg_real), &with));
    return arithmetic_seconds(p->c, &p->size);
}

void peers_close(peers_job *p) {
    job_free(p->ours);
    free(p->row);
    free(p);
}

/* ---- 8 */
static void usage(void) {
    printf("usage: rules [--only rule] [--size n,f,dim] [--cut seconds] [--no-hostile | --all]\n"
           "Times every rule of aggregators.h beside the limits of this machine, on harmless and "
           "on hostile rows.\n"
           "  --only R      this rule alone, named as in the tables\n"
           "  --size n,f,d  this size alone\n"
           "  --cut s       break calls off after s seconds (5)\n"
           "  --no-hostile  harmless rows only\n"
           "  --all         the ratios of every hostile input\n"
           "BENCH_QUICK=1: shorter. \n");
}

static int read_options(options *o, int argc, char **argv) {
    int n, f, dim;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        const int alone = strcmp(argv[i], "--no-hostile") == 0, all = strcmp(argv[i], "--all") == 0;
        o->hostile = o->hostile && !alone;
        o->matrix = o->matrix || all;
        if (alone || all) continue;
        if (strcmp(argv[i], "--only") == 0)
            o->only = value;
        else if (strcmp(argv[i], "--cut") == 0)
            o->cut = (unsigned)atoi(value);
        else if (strcmp(argv[i], "--size") == 0 && sscanf(value, "%d,%d,%d", &n, &f, &dim) == 3)
            o->given.n = (size_t)n, o->given.f = (size_t)f, o->given.dim = (size_t)dim;
        else
            return 0;
        i++;
    }
    return 1;
}

static void choose_sizes(bench *b) {
    const size *list = bench_quick() ? quick_sizes : full_sizes;
    b->sizes = (int)(bench_quick() ? sizeof quick_sizes : sizeof full_sizes) / (int)sizeof *list;
    if (b->want.given.n) list = &b->want.given, b->sizes = 1;
    memcpy(b->size, list, (size_t)b->sizes * sizeof *list);
}

int main(int argc, char **argv) {
    static bench b;
    b.want.cut = 5;
    b.want.hostile = 1;
    if (!read_options(&b.want, argc, argv)) {
        usage();
        return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : 2;
    }
    catch_alarm();
    b.told = bench_now();
    choose_sizes(&b);
    bench_print_build();
    for (int z = 0; z < b.sizes; z++) {
        measure(&b, &b.size[z], b.result[z]);
        print_size(&b, &b.size[z], b.result[z]);
        if (b.want.matrix) print_matrix(&b.size[z], b.result[z]);
    }
    return 0;
}
