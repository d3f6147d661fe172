/* 10: a rule and an attack of your own, a callback each. The rule: the mean of the n-f shortest
   rows, as liars exaggerate. The attack knows that rule: it sends the honest mean turned around, as
   long as a row may be and still be taken.
   The idea: an attack is fair only if it knows the rule; what looks good against the attacks in the
   books can fall to one that was made for it. Try yours against both before you believe it.
   Build: cc -O2 -I. examples/10_own_rule_and_attack.c -o 10_own_rule_and_attack -lm
   Run:   ./10_own_rule_and_attack */
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include "envs/cartpole.h"
#include "explain.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { AGENTS = 10, F = 3, ROUNDS = 50 };

static double dot(const rn_real *a, const rn_real *b, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

/* ---- the rule: n row pointers in, one row out. NULL is an agent that sent nothing, and rows may
   hold NaN: what you take, you answer for. */
static double length_of(const rn_real *row, size_t dim) {
    const double square = row ? dot(row, row, dim) : -1;
    return square >= 0 && square < 1e30 ? sqrt(square) : 1e30; /* NaN too: the longest of all */
}

static agg_status shortest(void *self, const rn_real *const *rows, size_t n, size_t dim,
                           rn_real *out) {
    const size_t f = *(const size_t *)self;
    size_t used = 0;
    memset(out, 0, dim * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        const double length = length_of(rows[i], dim);
        size_t shorter = 0;
        for (size_t j = 0; j < n; j++) shorter += length_of(rows[j], dim) < length;
        if (shorter >= n - f || length >= 1e30) continue;
        used++;
        for (size_t k = 0; k < dim; k++) out[k] += rows[i][k];
    }
    for (size_t k = 0; k < dim && used; k++) out[k] /= (rn_real)used;
    return used >= n - f ? AGG_OK : AGG_ERR_ROWS;
}

/* ---- the attack: a view of what it may know in, one row out. As long as a row may be and still be
   among the n-f shortest: shorter than all but n-2f of the honest ones. */
static double longest_taken(const rn_view *v) {
    double best = 1e30;
    for (size_t i = 0; i < v->count; i++) {
        const double length = length_of(v->rows[i], v->dim);
        size_t shorter = 0;
        for (size_t j = 0; j < v->count; j++) shorter += length_of(v->rows[j], v->dim) < length;
        if (shorter >= AGENTS - 2 * F) best = fmin(best, length);
    }
    return best;
}

static int slip_in(void *self, const rn_view *v, rn_real *row) {
    const double wanted = 0.99 * longest_taken(v);
    (void)self;
    memset(row, 0, v->dim * sizeof *row);
    for (size_t i = 0; i < v->count; i++)
        for (size_t k = 0; k < v->dim; k++) row[k] -= v->rows[i][k];
    const double length = length_of(row, v->dim);
    for (size_t k = 0; k < v->dim; k++) row[k] *= (rn_real)(length > 0 ? wanted / length : 0);
    return 1; /* 0: send nothing */
}

/* greedy return after training, of 500 */
static double train(int own_rule, int own_attack, rn_status *s) {
    static cartpole poles[AGENTS + 1];
    static size_t own_f = F;
    rn_env envs[AGENTS + 1];
    rn_net net;
    rn_trainer *trainer = NULL;
    double score = 0;
    rn_net_desc shape = rn_make_net_desc(4, 2);
    shape.hidden[0] = 16;
    for (int i = 0; i <= AGENTS; i++) envs[i] = cartpole_env(&poles[i]);
    rn_trainer_desc d = rn_make_trainer_desc(AGENTS, F, envs, rn_make_net_policy(&net, &shape));
    d.adversaries = F; /* sign flipping, unless ... */
    if (own_attack) d.attack.make = slip_in;
    if (own_rule) {
        d.server.aggregate = shortest;
        d.server.aggregate_self = &own_f;
    }
    *s = explain_trainer(rn_trainer_create(&trainer, &d), &d);
    for (int t = 0; *s == RN_OK && t < ROUNDS; t++) *s = rn_trainer_run_round(trainer);
    if (*s == RN_OK) *s = rn_trainer_evaluate(trainer, &envs[AGENTS], 50, &score);
    rn_trainer_destroy(trainer);
    return score;
}

int main(void) {
    static const char *const name[2] = {"trimmed mean", "own rule"};
    double score[2][2];
    rn_status s = RN_OK;
    printf("Return after %d rounds, %d of %d agents Byzantine, 500 is perfect\n\n%-12s%16s%16s\n",
           ROUNDS, F, AGENTS, "", "sign flipping", "own attack");
    for (int rule = 0; rule < 2; rule++) {
        printf("%-12s", name[rule]);
        for (int attack = 0; attack < 2; attack++) {
            score[rule][attack] = train(rule, attack, &s);
            if (s != RN_OK) return fprintf(stderr, "%s\n", rn_status_text(s)), 1;
            printf("%16.0f", score[rule][attack]);
        }
        printf("\n");
    }
    const int books = score[1][0] > 450, fair = score[1][1] > 450, ours = score[0][1] > 450;
    printf("\nVerdict: the own rule %s the attack of the books and %s the one that knows it; the "
           "trimmed mean %s both\n",
           books ? "survives" : "falls to", fair ? "survives" : "falls to",
           ours && score[0][0] > 450 ? "survives" : "does not survive");
    return !(books && !fair && ours);
}
