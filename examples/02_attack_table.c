/* 02: every rule against every attack. One number per pair: how far the result lands from the mean
   of the honest rows, in units of their diameter (the largest distance between two of them),
   averaged over random instances.
   The idea: no rule is best everywhere, a rule is as good as its worst column, and the mean has a
   very bad one.
   Build: cc -O2 -I. examples/02_attack_table.c -o 02_attack_table -lm && ./02_attack_table t.svg */
#define AGGREGATORS_IMPLEMENTATION
#include "aggregators.h"
#include "plot.h"
#include <stdlib.h>

enum { N = 15, F = 3, HONEST = N - F, DIM = 32, INSTANCES = 200 };

/* columns: no attack, the attacks, the worst of them; rows: the rules, then some after NNM */
/* those that need no desc, trusted row or random numbers */
enum { RULES = AGG_SMEA + 1, ATTACKS = AGG_ATTACK_NAN + 1 };
enum { COLS = 1 + ATTACKS + 1, NNM_ROWS = 5, ROWS = RULES + NNM_ROWS };
static const agg_rule after_nnm[NNM_ROWS] = {AGG_CWTM, AGG_MEAMED, AGG_CWMED, AGG_KRUM, AGG_GM};

/* splitmix64 */
static uint64_t random_bits(void *self) {
    uint64_t *state = (uint64_t *)self, z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* the sum of twelve uniform numbers is near enough */
static double normal(uint64_t *state) {
    double s = -6;
    for (int i = 0; i < 12; i++) s += (double)(random_bits(state) >> 11) / 9007199254740992.0;
    return s;
}

static double distance(const float *a, const float *b) {
    double s = 0;
    for (int k = 0; k < DIM; k++) s += pow((double)a[k] - (double)b[k], 2);
    return sqrt(s);
}

/* Rows around a common vector, twice as large as their noise. Returns the honest diameter. */
static double make_honest(float x[N][DIM], float mean[DIM], uint64_t *state) {
    double diameter = 0;
    for (int k = 0; k < DIM; k++) {
        const double truth = 2 * normal(state);
        mean[k] = 0;
        for (int i = 0; i < N; i++) { /* the adversaries' rows too: what they would have sent */
            x[i][k] = (float)(truth + normal(state));
            if (i < HONEST) mean[k] += x[i][k] / HONEST;
        }
    }
    for (int i = 0; i < HONEST; i++)
        for (int j = 0; j < i; j++) diameter = fmax(diameter, distance(x[i], x[j]));
    return diameter;
}

/* kind -1: no adversaries */
static void attack(int kind, float x[N][DIM], const float *const *rows, uint64_t *state) {
    agg_attack_desc a;
    memset(&a, 0, sizeof a);
    a.n = N;
    a.f = F;
    a.kind = (agg_attack_kind)kind;
    a.rng.next = random_bits;
    a.rng.self = state;
    for (int i = HONEST; kind >= 0 && i < N; i++)
        if (agg_attack(&a, rows, HONEST, DIM, x[i], x[i]) != AGG_OK) exit(1);
}

static agg_desc describe(int row) {
    int plain = row < RULES;
    agg_desc d = agg_make_desc(plain ? (agg_rule)row : after_nnm[row - RULES], N, DIM, F);
    if (!plain) d.pre[0] = AGG_PRE_NNM;
    return d;
}

static void measure(double error[ROWS][COLS]) {
    uint64_t state = 2;
    size_t size = 0;
    for (int r = 0; r < ROWS; r++) {
        agg_desc d = describe(r);
        size = agg_scratch_size(&d) > size ? agg_scratch_size(&d) : size;
    }
    void *scratch = malloc(size);
    for (int t = 0; t < INSTANCES; t++)
        for (int c = 0; c < COLS - 1; c++) {
            float x[N][DIM], mean[DIM], out[DIM];
            const float *rows[N];
            double diameter = make_honest(x, mean, &state);
            for (int i = 0; i < N; i++) rows[i] = x[i];
            attack(c - 1, x, rows, &state);
            for (int r = 0; r < ROWS; r++) {
                agg_desc d = describe(r);
                if (agg_aggregate(&d, rows, out, scratch, size, NULL) > AGG_INEXACT) exit(1);
                error[r][c] += distance(out, mean) / diameter / INSTANCES;
            }
        }
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLS - 1; c++)
            error[r][COLS - 1] = fmax(error[r][COLS - 1], error[r][c]);
    free(scratch);
}

static void print_table(double error[ROWS][COLS], const char *const *row, const char *const *col) {
    for (int line = 0; line < 2; line++) { /* "sign flipping" on two lines */
        printf("\n%-14s", "");
        for (int c = 0; c < COLS; c++) {
            const char *blank = strchr(col[c], ' ');
            const int first = blank ? (int)(blank - col[c]) : 0; /* letters of the upper line */
            printf(" %8.*s", line ? 8 : first, line && blank ? blank + 1 : col[c]);
        }
    }
    for (int r = 0; r < ROWS; r++) {
        printf("\n%-14s", row[r]);
        for (int c = 0; c < COLS; c++)
            printf(error[r][c] < 9.9995 ? " %8.3f" : " %8.3g", error[r][c]);
    }
    printf("\n");
}

static int draw(const char *path, const char *note, const plot_heat *table) {
    plot p;
    if (plot_open(&p, path, 900, 620, "Every rule against every attack") != 0) return -1;
    plot_text(&p, 20, 54, PLOT_LEFT, "note", note);
    plot_heatmap(&p, plot_make_box(118, 106, 764, 456), table);
    return plot_close(&p);
}

int main(int argc, char **argv) {
    static double error[ROWS][COLS];
    char nnm_name[NNM_ROWS][32], note[160];
    const char *row[ROWS], *col[COLS], *path = argc > 1 ? argv[1] : "build/attack_table.svg";
    if (argc > 2 || path[0] == '-') {
        printf("usage: 02_attack_table [file.svg]\nPrints the error of every rule under every "
               "attack and draws it\ninto file.svg (build/attack_table.svg).\n");
        return argc == 2 && strcmp(path, "--help") == 0 ? 0 : 2;
    }
    col[0] = "no attack", col[COLS - 1] = "worst";
    for (int a = 0; a < ATTACKS; a++) col[1 + a] = agg_attack_name((agg_attack_kind)a);
    for (int r = 0; r < RULES; r++) row[r] = agg_rule_name((agg_rule)r);
    for (int k = 0; k < NNM_ROWS; k++) {
        snprintf(nnm_name[k], sizeof nnm_name[k], "NNM + %s", agg_rule_name(after_nnm[k]));
        row[RULES + k] = nnm_name[k];
    }
    snprintf(note, sizeof note,
             "distance to the mean of the honest rows, in honest diameters: %d of %d rows are "
             "Byzantine, dimension %d, mean of %d instances",
             F, N, DIM, INSTANCES);
    measure(error);
    printf("%s\n", note);
    print_table(error, row, col);
    const plot_heat table = {
        ROWS,           COLS,    error[0], row, col, {0.05, 2, 1}, "error / honest diameter",
        RULES, COLS - 1};
    if (draw(path, note, &table) != 0) return fprintf(stderr, "cannot write %s\n", path), 1;
    return printf("\nwrote %s\n", path), 0;
}
