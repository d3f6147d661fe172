/* curves.h - what the trials of a figure say: the mean over seeds with its confidence, gains seed
   by seed, CSV, curves to draw. `runs` is everywhere the first of `seeds` trials that differ in
   nothing but their seed. */
#ifndef CURVES_H
#define CURVES_H
#include "trials.h"

enum { MAX_SEEDS = 5, MAX_POINTS = 320, LAST = 10 }; /* LAST evaluations count as the end */
enum { SEEDS_ROOM = 20 };                            /* no figure has more */

typedef struct series {
    const char *name;
    size_t n;
    double x[MAX_POINTS], y[MAX_POINTS];   /* y: mean */
    double lo[MAX_POINTS], hi[MAX_POINTS]; /* 95 % confidence */
} series;

PLOT_FN double average(const double *y, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += y[i];
    return sum / (double)n;
}

PLOT_FN double largest(const double *y, size_t n) {
    double most = y[0];
    for (size_t i = 1; i < n; i++) most = fmax(most, y[i]);
    return most;
}

PLOT_FN series series_of(const trial *runs, size_t seeds) {
    double value[SEEDS_ROOM * MAX_POINTS];
    series s;
    s.name = runs->learner->name;
    s.n = runs->points;
    for (size_t r = 0; r < seeds; r++) memcpy(value + r * s.n, runs[r].score, s.n * sizeof *value);
    memcpy(s.x, runs->x, s.n * sizeof *s.x);
    plot_confidence(value, seeds, s.n, s.y, s.lo, s.hi);
    return s;
}

PLOT_FN double final_return(const series *s) { return average(s->y + s->n - LAST, LAST); }

/* how much more one learner gets than another, seed by seed */
typedef struct gain {
    double mean, lo, hi;
} gain;

PLOT_FN gain gain_of(const double *difference, size_t seeds) {
    gain g;
    plot_confidence(difference, seeds, 1, &g.mean, &g.lo, &g.hi);
    return g;
}

/* in the last evaluations; 0 = all */
PLOT_FN gain gain_over(const trial *a, const trial *b, size_t seeds, size_t last) {
    double difference[SEEDS_ROOM];
    for (size_t r = 0; r < seeds; r++) {
        const size_t n = last ? last : a[r].points, from = a[r].points - n;
        difference[r] = average(a[r].score + from, n) - average(b[r].score + from, n);
    }
    return gain_of(difference, seeds);
}

/* of a claim that it is more, for paper_claim() */
PLOT_FN int verdict(gain g) { return g.lo > 0 ? 1 : g.hi < 0 ? 0 : -1; }

/* 0, or -1 if it cannot */
PLOT_FN int write_csv(const char *path, const trial *trials, size_t count) {
    FILE *out = fopen(path, "w");
    if (!out) return -1;
    fprintf(out, "task,attack,algorithm,seed,trajectories,return,env_steps\n");
    for (size_t i = 0; i < count; i++)
        for (size_t p = 0; p < trials[i].points; p++) {
            const trial *t = &trials[i];
            fprintf(out, "%s,%s,%s,%d,%g,%.6g,%.0f\n", t->task->name, t->attack->name,
                    t->learner->name, (int)t->seed, t->x[p], t->score[p], t->steps[p]);
        }
    const int bad = ferror(out);
    return fclose(out) != 0 || bad ? -1 : 0;
}

PLOT_FN plot_curve curve_of(const series *s, int colour, int dashed) {
    const plot_curve c = {s->name, s->n, s->x, s->y, s->lo, s->hi, colour, dashed};
    return c;
}
#endif /* CURVES_H */
