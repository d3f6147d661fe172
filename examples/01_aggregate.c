/* 01: ten agents each send an estimate of the same vector; three of them are Byzantine: they send
   what they like. What does each rule make of it?
   The idea: the mean trusts everybody, a robust rule trusts any seven who agree, and nobody has to
   know who they are.
   Build: cc -O2 -I. examples/01_aggregate.c -o 01_aggregate -lm && ./01_aggregate */
#define AGGREGATORS_IMPLEMENTATION
#include "aggregators.h"
#include "random.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 10, F = 3, HONEST = N - F, DIM = 8 };

/* Honest agents send the truth plus noise. */
static float noise(uint64_t *state) { return (float)(random_uniform(state) - 0.5); }

static void make_rows(float x[N][DIM], float mean[DIM]) {
    uint64_t seed = 1;
    for (int k = 0; k < DIM; k++) mean[k] = 0;
    for (int i = 0; i < HONEST; i++)
        for (int k = 0; k < DIM; k++) {
            x[i][k] = (float)(k + 1) + noise(&seed);
            mean[k] += x[i][k] / HONEST;
        }
    for (int k = 0; k < DIM; k++) {
        x[7][k] = NAN;            /* the crude adversary: one NaN in a sum and the sum is NaN */
        x[8][k] = 1e30f;          /* the giant: squaring it overflows a float */
        x[9][k] = mean[k] - 0.6f; /* the subtle one: plausible numbers that all lean one way */
    }
}

static double distance(const float *a, const float *b) {
    double s = 0;
    for (int k = 0; k < DIM; k++)
        s += ((double)a[k] - (double)b[k]) * ((double)a[k] - (double)b[k]);
    return sqrt(s);
}

static void naive_mean(float x[N][DIM], float *out) {
    for (int k = 0; k < DIM; k++) {
        out[k] = 0;
        for (int i = 0; i < N; i++) out[k] += x[i][k] / N;
    }
}

/* Describe, ask how much scratch, aggregate. weight and suspicion are filled if there is a
   result. */
static agg_status run(agg_rule rule, const float *const *rows, float *out, double *weight,
                      double *suspicion) {
    uint64_t state = 1;
    agg_desc desc = agg_make_desc(rule, N, DIM, F);
    desc.rng.next = random_bits; /* some rules draw coordinates */
    desc.rng.self = &state;
    size_t size = agg_scratch_size(&desc); /* 0 if the rule cannot do this: the status says why */
    void *scratch = malloc(size ? size : 1);
    agg_report report = {0};
    report.weight = weight;
    report.suspicion = suspicion;
    agg_status status = agg_aggregate(&desc, rows, out, scratch, size, &report);
    free(scratch);
    return status;
}

static void print_report(agg_rule rule, const float *const *rows) {
    static const char *const who[F] = {"sent NaN", "sent 1e30", "leans"};
    float out[DIM];
    double weight[N], suspicion[N];
    if (run(rule, rows, out, weight, suspicion) > AGG_INEXACT) return;
    printf("\nWhom did %s believe? weight: share in the result; suspicion: distance to it, 1 is "
           "usual\n\n",
           agg_rule_name(rule));
    for (int i = 0; i < N; i++)
        printf("  agent %d  weight %5.3f  suspicion %-9.3g %s\n", i, weight[i], suspicion[i],
               i < HONEST ? "" : who[i - HONEST]);
}

/* is each rule as near as its lambda says? */
static int judge(const float *const *rows, const float *mean) {
    float out[DIM];
    double diameter = 0;
    for (int i = 0; i < HONEST; i++)
        for (int j = 0; j < i; j++) diameter = fmax(diameter, distance(rows[i], rows[j]));
    int kept = 0, rules = 0;
    for (int r = 0; r < AGG_RULE_COUNT; r++) {
        const double lambda = agg_lambda((agg_rule)r, N, F, DIM);
        if (lambda < 0 || lambda > 1e300) continue;
        rules++;
        kept += run((agg_rule)r, rows, out, NULL, NULL) <= AGG_INEXACT &&
                distance(out, mean) <= lambda * diameter;
    }
    printf("\nVerdict: one liar is enough for the mean; %d of %d rules with a lambda kept their "
           "promise\n",
           kept, rules);
    return kept == rules;
}

int main(void) {
    float x[N][DIM], mean[DIM], out[DIM];
    const float *rows[N];
    make_rows(x, mean);
    for (int i = 0; i < N; i++) rows[i] = x[i];

    printf("%d agents, %d of them are Byzantine. Distance of each result to the mean of the "
           "honest:\n\n",
           N, F);
    naive_mean(x, out);
    printf("  %-12s %-10.3g a loop that adds them up\n", "(no rule)", distance(out, mean));
    for (int r = 0; r < AGG_RULE_COUNT; r++) {
        agg_rule rule = (agg_rule)r;
        agg_status status = run(rule, rows, out, NULL, NULL);
        if (status > AGG_INEXACT) {
            char why[128];
            agg_desc desc = agg_make_desc(rule, N, DIM, F);
            agg_explain(&desc, why, sizeof why);
            printf("  %-12s %-10s %s\n", agg_rule_name(rule), "-", why);
            continue;
        }
        double lambda = agg_lambda(rule, N, F, DIM);
        printf("  %-12s %-10.3g ", agg_rule_name(rule), distance(out, mean));
        if (lambda < 0)
            printf("no lambda in the table\n");
        else if (lambda > 1e300)
            printf("not resilient: lambda is infinite\n");
        else
            printf("never more than %.2f times the honest diameter\n", lambda);
    }
    print_report(AGG_MDA, rows);
    print_report(AGG_CWTM, rows);
    return !judge(rows, mean);
}
