/* 02: every rule against ten attacks. One number per pair: how far the result lands from the mean
   of the honest rows, in units of their diameter (the largest distance between two of them),
   averaged over random instances.
   The idea: no rule is best everywhere, a rule is as good as its worst column, and the mean has a
   very bad one.
   Build: cc -O2 -I. examples/02_attack_table.c -o 02_attack_table -lm && ./02_attack_table t.svg */
#define AGGREGATORS_IMPLEMENTATION
#include "aggregators.h"
#include "explain.h"
#include "options.h"
#include "plot.h"
#include "random.h"

enum { N = 15, F = 3, HONEST = N - F, DIM = 32, INSTANCES = 200 };

/* columns: no attack, the attacks, the worst of them; rows: the rules, then some after NNM */
enum { ATTACKS = 10, WORST = 1 + ATTACKS, COLS };
static const agg_attack_kind attacks[ATTACKS] = {
    AGG_ATTACK_SIGN_FLIP, AGG_ATTACK_NOISE,    AGG_ATTACK_GAUSSIAN, AGG_ATTACK_ZERO,
    AGG_ATTACK_IPM,       AGG_ATTACK_ALIE,     AGG_ATTACK_MIMIC,    AGG_ATTACK_NAN,
    AGG_ATTACK_MIN_MAX,   AGG_ATTACK_FANG_TRIM};
enum { NNM_ROWS = 5, ROWS = AGG_RULE_COUNT + NNM_ROWS };
static const agg_rule after_nnm[NNM_ROWS] = {AGG_CWTM, AGG_MEAMED, AGG_CWMED, AGG_KRUM, AGG_GM};

static double distance(const float *a, const float *b) {
    double s = 0;
    for (int k = 0; k < DIM; k++) s += pow((double)a[k] - (double)b[k], 2);
    return sqrt(s);
}

/* Rows around a common vector, twice as large as their noise. Returns the honest diameter. */
static double make_honest(float x[N][DIM], float mean[DIM], uint64_t *state) {
    double diameter = 0;
    for (int k = 0; k < DIM; k++) {
        const double truth = 2 * random_normal(state);
        mean[k] = 0;
        for (int i = 0; i < N; i++) { /* the adversaries' rows too: what they would have sent */
            x[i][k] = (float)(truth + random_normal(state));
            if (i < HONEST) mean[k] += x[i][k] / HONEST;
        }
    }
    for (int i = 0; i < HONEST; i++)
        for (int j = 0; j < i; j++) diameter = fmax(diameter, distance(x[i], x[j]));
    return diameter;
}

/* enough for all: agg_scratch_size() and agg_attack_scratch_size() tell how much */
static char scratch[1 << 17];

static void attack(agg_attack_kind kind, float x[N][DIM], const float *const *rows, uint64_t *s) {
    agg_attack_desc a;
    memset(&a, 0, sizeof a);
    a.n = N, a.f = F, a.kind = kind, a.rng.next = random_bits, a.rng.self = s;
    a.scratch = scratch, a.scratch_size = sizeof scratch;
    for (int i = HONEST; i < N; i++)
        if (agg_attack(&a, rows, HONEST, DIM, x[i], x[i]) != AGG_OK) exit(1);
}

static agg_desc describe(int row, uint64_t *state) {
    int plain = row < AGG_RULE_COUNT;
    agg_desc d = agg_make_desc(plain ? (agg_rule)row : after_nnm[row - AGG_RULE_COUNT], N, DIM, F);
    if (!plain) d.pre[0] = AGG_PRE_NNM;
    d.rng.next = random_bits;
    d.rng.self = state;
    return d;
}

static void measure(double error[ROWS][COLS]) {
    uint64_t state = 2, own = 3; /* the rows do not depend on what the rules draw */
    for (int t = 0; t < INSTANCES; t++)
        for (int c = 0; c < WORST; c++) {
            float x[N][DIM], mean[DIM], out[DIM];
            const float *rows[N];
            double diameter = make_honest(x, mean, &state);
            for (int i = 0; i < N; i++) rows[i] = x[i];
            if (c) attack(attacks[c - 1], x, rows, &state);
            for (int r = 0; r < ROWS; r++) {
                agg_desc d = describe(r, &own);
                const agg_status s = agg_aggregate(&d, rows, out, scratch, sizeof scratch, NULL);
                if (explain_agg(s, &d) > AGG_INEXACT) exit(1);
                error[r][c] += distance(out, mean) / diameter / INSTANCES;
            }
        }
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < WORST; c++) error[r][WORST] = fmax(error[r][WORST], error[r][c]);
}

/* the rule whose worst column is the least bad: is it the best in the others too? */
static int judge(double error[ROWS][COLS], const char *const *row) {
    int best = 0, beaten = 0;
    for (int r = 1; r < ROWS; r++)
        if (error[r][WORST] < error[best][WORST]) best = r;
    for (int c = 0; c < WORST; c++) {
        int r = 0;
        while (r < ROWS && error[r][c] > error[best][c] - 0.01) r++;
        beaten += r < ROWS;
    }
    printf("\nVerdict: at worst %s is %.2f diameters off and the mean %.2f; but in %d of the other "
           "%d columns some rule beats %s\n",
           row[best], error[best][WORST], error[AGG_MEAN][WORST], beaten, WORST, row[best]);
    return beaten > 0 && best != AGG_MEAN;
}

int main(int argc, char **argv) {
    static double error[ROWS][COLS];
    char nnm_name[NNM_ROWS][32], note[160];
    const char *row[ROWS], *col[COLS];
    option file = {
        "file.svg", "what to draw (build/attack_table.svg)", "build/attack_table.svg", 0, 0, 0};
    options_read(argc, argv, &file, 1, "usage: 02_attack_table [file.svg]\n");
    col[0] = "no attack", col[WORST] = "worst";
    for (int a = 0; a < ATTACKS; a++) col[1 + a] = agg_attack_name(attacks[a]);
    for (int r = 0; r < AGG_RULE_COUNT; r++) row[r] = agg_rule_name((agg_rule)r);
    for (int k = 0; k < NNM_ROWS; k++) {
        snprintf(nnm_name[k], sizeof nnm_name[k], "NNM + %s", agg_rule_name(after_nnm[k]));
        row[AGG_RULE_COUNT + k] = nnm_name[k];
    }
    snprintf(note, sizeof note,
             "distance to the mean of the honest rows, in honest diameters: %d of %d rows are "
             "Byzantine, dimension %d, mean of %d instances",
             F, N, DIM, INSTANCES);
    measure(error);
    const plot_heat table = {
        ROWS,           COLS, error[0], row, col, {0.05, 2, 1}, "error / honest diameter",
        AGG_RULE_COUNT, WORST};
    printf("%s\n\n", note);
    plot_terminal_heatmap(stdout, &table);
    plot p;
    if (plot_open(&p, file.text, 900, 800, "Every rule against ten attacks") != 0)
        return fprintf(stderr, "cannot write %s\n", file.text), 1;
    plot_text(&p, 20, 54, PLOT_LEFT, "note", note);
    plot_heatmap(&p, plot_make_box(118, 106, 764, 636), &table);
    const int good = judge(error, row);
    printf("wrote %s\n", file.text);
    return plot_close(&p) != 0 || !good;
}
