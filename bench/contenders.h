/* contenders.h - every rule and pre-aggregation of aggregators.h as something to time: how it is
   called, how long a call takes on this thread, and what the machine could do at best. For rules.c,
   speed.c and peers.c. Include bench.h first. */
#ifndef BENCH_CONTENDERS_H
#define BENCH_CONTENDERS_H
#define AGGREGATORS_IMPLEMENTATION
#include "aggregators.h"
#include "inputs.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

/* ---- what is timed */
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
    {"winsorised mean", AGG_WINSOR, AGG_PRE_NONE, READ, 0},
    {"sign vote", AGG_SIGN_VOTE, AGG_PRE_NONE, READ, 0},
    {"Aksel", AGG_AKSEL, AGG_PRE_NONE, READ, 0},
    {"FLTrust", AGG_FLTRUST, AGG_PRE_NONE, READ, 0},
    {"SignGuard", AGG_SIGNGUARD, AGG_PRE_NONE, READ, 0},
    {"GAS", AGG_GAS, AGG_PRE_NONE, READ, 0},
    {"Krum", AGG_KRUM, AGG_PRE_NONE, PAIRS, 0},
    {"Multi-Krum", AGG_MULTI_KRUM, AGG_PRE_NONE, PAIRS, 0},
    {"MDA", AGG_MDA, AGG_PRE_NONE, PAIRS, 0},
    {"GM", AGG_GM, AGG_PRE_NONE, PAIRS, 0},
    {"Bulyan", AGG_BULYAN, AGG_PRE_NONE, PAIRS, 0},
    {"CAF", AGG_CAF, AGG_PRE_NONE, PAIRS, 0},
    {"SMEA", AGG_SMEA, AGG_PRE_NONE, PAIRS, 0},
    {"DnC", AGG_DNC, AGG_PRE_NONE, PAIRS, 0},
    {"FedPG", AGG_FEDPG, AGG_PRE_NONE, PAIRS, 0},
    {"NNM + mean", AGG_MEAN, AGG_PRE_NNM, PAIRS_AND_MIX, 0},
    {"bucketing + mean", AGG_MEAN, AGG_PRE_BUCKETING, READ, 0},
    {"clipping + mean", AGG_MEAN, AGG_PRE_CLIP, READ, 0},
    {"ARC + mean", AGG_MEAN, AGG_PRE_ARC, READ, 0},
    {"median clip + mean", AGG_MEAN, AGG_PRE_CLIP_MEDIAN, READ, 0},
};

enum { CONTENDERS = sizeof contenders / sizeof *contenders };

/* its index, or CONTENDERS */
static BENCH_UNUSED int contender_named(const char *name) {
    int c = 0;
    while (c < CONTENDERS && strcmp(contenders[c].name, name) != 0) c++;
    return c;
}

typedef struct size {
    size_t n, f, dim;
} size;

/* ---- one call */
typedef struct job {
    agg_desc desc;
    agg_real *out, *start;
    double *weight; /* asked for if report.weight is this */
    agg_report report;
    void *scratch;
    size_t scratch_size;
    uint64_t seed;
} job;

static uint64_t job_random(void *self) { return bench_random((uint64_t *)self); }

/* f is lowered to what the rule survives */
static BENCH_UNUSED job *job_make(const contender *c, const size *z) {
    job *j = (job *)bench_alloc(1, sizeof *j);
    agg_desc *d = &j->desc;
    *d = agg_make_desc(c->rule, z->n, z->dim, z->f);
    j->start = (agg_real *)bench_alloc(z->dim, sizeof *j->start);
    j->out = (agg_real *)bench_alloc(z->dim, sizeof *j->out);
    j->weight = (double *)bench_alloc(z->n, sizeof *j->weight);
    d->pre[0] = c->pre;
    d->clip = 0.5 * sqrt((double)z->dim);
    d->start = c->start ? j->start : NULL;
    d->rng.next = job_random;
    d->rng.self = &j->seed;
    while (d->f > 0 && agg_scratch_size(d) == 0) d->f--;
    j->scratch_size = agg_scratch_size(d);
    j->scratch = bench_alloc(j->scratch_size, 1);
    memset(j->scratch, 1, j->scratch_size); /* the pages must be there before the clock runs */
    return j;
}

static BENCH_UNUSED void job_free(job *j) {
    free(j->start);
    free(j->out);
    free(j->weight);
    free(j->scratch);
    free(j);
}

/* The header allocates nothing and locks nothing, so a call may be left by a jump. Processor time
   counts: others may have the machine. */
static sigjmp_buf job_too_long;

static void job_on_alarm(int signal_number) {
    (void)signal_number;
    siglongjmp(job_too_long, 1);
}

/* 0: never */
static void job_set_alarm(unsigned seconds) {
    struct sigaction action;
    struct itimerval timer;
    memset(&action, 0, sizeof action);
    memset(&timer, 0, sizeof timer);
    action.sa_handler = job_on_alarm;
    timer.it_value.tv_sec = (time_t)seconds;
    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &timer, NULL);
}

static void job_call(job *j, const agg_real *const *row) {
    agg_report *report = j->report.weight ? &j->report : NULL;
    agg_status s = agg_aggregate(&j->desc, row, j->out, j->scratch, j->scratch_size, report);
    if (s <= AGG_INEXACT) return;
    fprintf(stderr, "%s n=%d f=%d: %s\n", agg_rule_name(j->desc.rule), (int)j->desc.n,
            (int)j->desc.f, agg_status_text(s));
    exit(1);
}

/* this thread's seconds for one call, the average of some; infinite if it was broken off after cut
   seconds */
static BENCH_UNUSED double job_seconds(job *j, const agg_real *const *row, int times,
                                       unsigned cut) {
    if (sigsetjmp(job_too_long, 1)) return HUGE_VAL;
    job_set_alarm(cut);
    double start = bench_cpu();
    for (int i = 0; i < times; i++) job_call(j, row);
    double seconds = (bench_cpu() - start) / times;
    job_set_alarm(0);
    return seconds;
}

/* so many that the clock's own time does not count */
static BENCH_UNUSED int job_calls_a_sample(double seconds) {
    return seconds < 50e-6 ? (int)(50e-6 / (seconds + 1e-7)) + 1 : 1;
}

static BENCH_UNUSED void keep_least(double *least, double seconds) {
    if (*least <= 0 || seconds < *least) *least = seconds;
}

/* ---- limits */
/* row after row, or several rows side by side: which is faster depends on the machine */
static BENCH_UNUSED double limit_read(const agg_real *x, size_t count, int times) {
    static const size_t streams[] = {1, 4, 16};
    double least = 0;
    for (size_t s = 0; s < sizeof streams / sizeof *streams; s++) {
        const double start = bench_cpu();
        for (int i = 0; i < times; i++) bench_read(x, count * sizeof *x, streams[s]);
        keep_least(&least, (bench_cpu() - start) / times);
    }
    return least;
}

/* multiplications and additions a second; the best so far, for the clock of the machine changes */
static BENCH_UNUSED double limit_peak(void) {
    static double peak;
    const char *with;
    return peak = fmax(peak, bench_product_peak(sizeof(agg_real), &with));
}

/* n^2 d/2 of them for the distances; mixing adds n-f rows to make each of n */
static BENCH_UNUSED double limit_arithmetic(cost needs, const size *z, double peak) {
    const double n = (double)z->n, pairs = n * n / 2;
    const double mix = needs == PAIRS_AND_MIX ? n * (double)(z->n - z->f) : 0;
    return needs == READ ? 0 : (pairs + mix) * (double)z->dim / peak;
}
#endif /* BENCH_CONTENDERS_H */
