/* rows - makes files of rows for the test of mpi_aggregate, and aggregates them in one process.

       rows make FOLDER N DIM SEED KIND      KIND: 0 harmless, 1 hostile (NaN, giants, denormals)
       rows whole FILE RULE F PRE row ...    by agg_aggregate(), random numbers of seed 1
       rows names                            the rules that go in stages */
#define AGGREGATORS_IMPLEMENTATION
#include "aggregators.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t next_random(void *self) { /* splitmix64, as mpi_aggregate's */
    uint64_t *state = (uint64_t *)self, z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static int fail(const char *what) {
    fprintf(stderr, "rows: %s\n", what);
    return 1;
}

static size_t number(const char *text) { return (size_t)strtoul(text, NULL, 10); }

/* row i, of a sum of uniform numbers; the hostile are odd rows */
static void fill(agg_real *x, size_t dim, size_t i, int hostile, uint64_t *state) {
    for (size_t k = 0; k < dim; k++) {
        double sum = 0;
        for (int t = 0; t < 4; t++) sum += (double)(next_random(state) >> 11) / 9007199254740992.0;
        x[k] = (agg_real)(sum - 2);
        if (hostile && i % 4 == 1 && i / 4 == 1) x[k] *= (agg_real)1e30;
        if (hostile && i % 4 == 1 && i / 4 == 2) x[k] *= (agg_real)1e-38;
    }
    if (hostile && i == 1) x[dim - 1 - dim / 7] = x[0] / (x[1] - x[1]);
}

static int make(char **arg) {
    const size_t n = number(arg[1]), dim = number(arg[2]);
    uint64_t state = number(arg[3]);
    agg_real *x = (agg_real *)malloc(dim * sizeof *x);
    char path[1024];
    for (size_t i = 0; i < n; i++) {
        FILE *file;
        fill(x, dim, i, arg[4][0] == '1', &state);
        snprintf(path, sizeof path, "%s/%04d", arg[0], (int)i);
        file = fopen(path, "wb");
        if (!file || fwrite(x, sizeof *x, dim, file) != dim || fclose(file)) return fail(path);
    }
    free(x);
    return 0;
}

static int named(const char *text, const char *(*name)(int), int count) {
    for (int k = 0; k < count; k++)
        if (!strcmp(text, name(k))) return k;
    fail(text);
    exit(1);
}

static const char *rule_name(int k) { return agg_rule_name((agg_rule)k); }

static const char *pre_name(int k) { return agg_pre_name((agg_pre)k); }

static size_t length(FILE *file) {
    long at;
    fseek(file, 0, SEEK_END);
    at = ftell(file);
    rewind(file);
    return at > 0 ? (size_t)at / sizeof(agg_real) : 0;
}

static int whole(int count, char **arg) {
    const size_t n = (size_t)count - 4;
    const agg_real **row = (const agg_real **)malloc(n * sizeof *row);
    uint64_t state = 1;
    agg_desc d =
        agg_make_desc((agg_rule)named(arg[1], rule_name, AGG_RULE_COUNT), n, 0, number(arg[2]));
    agg_real *out;
    void *scratch;
    agg_status s;
    FILE *file;
    d.pre[0] = (agg_pre)named(arg[3], pre_name, AGG_PRE_COUNT);
    d.rng.next = next_random;
    d.rng.self = &state;
    for (size_t i = 0; i < n; i++) {
        agg_real *x;
        file = fopen(arg[4 + i], "rb");
        if (!file) return fail(arg[4 + i]);
        d.dim = length(file);
        x = (agg_real *)malloc(d.dim * sizeof *x);
        if (fread(x, sizeof *x, d.dim, file) != d.dim) return fail(arg[4 + i]);
        fclose(file);
        row[i] = x;
    }
    out = (agg_real *)malloc(d.dim * sizeof *out);
    scratch = malloc(agg_scratch_size(&d) + 1);
    s = agg_aggregate(&d, row, out, scratch, agg_scratch_size(&d), NULL);
    if (s != AGG_OK && s != AGG_INEXACT) return fail(agg_status_text(s));
    file = fopen(arg[0], "wb");
    if (!file || fwrite(out, sizeof *out, d.dim, file) != d.dim || fclose(file))
        return fail(arg[0]);
    return 0;
}

static int names(void) {
    for (int k = 0; k < AGG_RULE_COUNT; k++) {
        agg_desc d = agg_make_desc((agg_rule)k, 12, 10, 1);
        d.rng.next = next_random;
        if (agg_stages_size(&d, 10)) printf("%s\n", agg_rule_name((agg_rule)k));
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 7 && !strcmp(argv[1], "make")) return make(argv + 2);
    if (argc > 6 && !strcmp(argv[1], "whole")) return whole(argc - 2, argv + 2);
    if (argc == 2 && !strcmp(argv[1], "names")) return names();
    return fail("make FOLDER N DIM SEED KIND | whole FILE RULE F PRE row ... | names");
}
