/* 04: ten agents learn to balance a pole together; three of them are Byzantine. Who learns: a
   server that averages, or one that aggregates robustly? Five runs of each; only the rule differs.
   The idea: swap the mean for MDA and the adversaries no longer matter.
   Build: cc -O2 -I. examples/04_cartpole.c -o 04_cartpole -lm && ./04_cartpole cartpole.svg */
#define _POSIX_C_SOURCE 200809L /* isatty */
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include "envs/cartpole.h"
#include "plot.h"
#include "options.h"
#include <unistd.h>

enum { AGENTS = 10, ADVERSARIES = 3, RUNS = 5, RULES = 3, EVERY = 5, EVALUATIONS = 10 };
enum { MAX_ROUNDS = 2000, POINTS = MAX_ROUNDS / EVERY + 1, ATTACKS = AGG_ATTACK_COUNT + 4 };
enum { SEED, ROUNDS, ATTACK, OUTPUT, OPTIONS };

static const agg_rule rules[RULES] = {AGG_MDA, AGG_MEAN, AGG_CWTM};

typedef struct result { /* of one rule */
    rn_trainer *trainer[RUNS];
    cartpole pole[RUNS][AGENTS];
    double score[RUNS * POINTS]; /* RUNS rows, as long as there are points */
    double y[POINTS], lo[POINTS], hi[POINTS];
} result;

/* attacks on the vectors, then the other kinds */
static const char *attack_by_index(int i, rn_attack *attack) {
    static const char *const other[4] = {"random action", "reward flipping", "silence", "none"};
    const int kind = i - AGG_ATTACK_COUNT;
    memset(attack, 0, sizeof *attack);
    if (kind < 0)
        attack->vector.kind = (agg_attack_kind)i;
    else
        attack->kind = (rn_attack_kind)(RN_ATTACK_RANDOM_ACTION + kind);
    return kind < 0 ? agg_attack_name(attack->vector.kind) : other[kind];
}

static rn_attack attack_by_name(const char *name) {
    rn_attack attack;
    for (int i = 0; i < ATTACKS; i++)
        if (strcmp(attack_by_index(i, &attack), name) == 0) return attack;
    fprintf(stderr, "no attack is called \"%s\". There are:\n", name);
    for (int i = 0; i < ATTACKS; i++) fprintf(stderr, "  %s\n", attack_by_index(i, &attack));
    exit(2);
}

static rn_status start(result *r, int run, agg_rule rule, const option *o) {
    static rn_net net; /* the shape of the policy: the same for all, so one is enough */
    rn_env envs[AGENTS];
    rn_net_desc shape = rn_make_net_desc(4, 2);
    shape.hidden[0] = shape.hidden[1] = 16;
    for (int i = 0; i < AGENTS; i++) envs[i] = cartpole_env(&r->pole[run][i]);
    rn_trainer_desc d =
        rn_make_trainer_desc(AGENTS, ADVERSARIES, envs, rn_make_net_policy(&net, &shape));
    d.server.agg.rule = rule;
    if (rule == AGG_MEAN) d.server.agg.pre[0] = AGG_PRE_NONE; /* NNM alone would save it */
    d.server.gamma = rn_schedule_linear(0.08, 0, o[ROUNDS].number);
    d.adversaries = ADVERSARIES;
    d.attack = attack_by_name(o[ATTACK].text);
    d.seed = o[SEED].number + (uint64_t)run;
    return rn_trainer_create(&r->trainer[run], &d);
}

/* greedy, on a pole of its own: training does not notice */
static double evaluate(rn_trainer *t, size_t trajectories) {
    static cartpole pole;
    rn_env env = cartpole_env(&pole);
    double mean = 0;
    return rn_trainer_evaluate(t, &env, trajectories, &mean) == RN_OK ? mean : 0;
}

static void progress(const result *r, size_t points, size_t p, size_t rounds) {
    const int live = isatty(2); /* a person is watching: one line, rewritten */
    if (!live && p % 10) return;
    fprintf(stderr, "%sround %3d of %d  ", live ? "\r" : "", (int)p * EVERY, (int)rounds);
    for (int k = 0; k < RULES; k++) {
        double mean = 0;
        for (size_t run = 0; run < RUNS; run++) mean += r[k].score[run * points + p] / RUNS;
        fprintf(stderr, "  %s %5.1f", agg_rule_name(rules[k]), mean);
    }
    fputs(live && p + 1 < points ? " " : "\n", stderr);
}

/* all runs of all rules in step */
static rn_status train(result *r, const option *o, size_t points) {
    rn_status s = RN_OK;
    for (int k = 0; k < RULES * RUNS && s == RN_OK; k++)
        s = start(&r[k / RUNS], k % RUNS, rules[k / RUNS], o);
    for (size_t p = 0; s == RN_OK && p < points; p++) {
        for (size_t k = 0; k < RULES * RUNS; k++) {
            rn_trainer *t = r[k / RUNS].trainer[k % RUNS];
            for (int i = 0; p > 0 && i < EVERY; i++)
                (void)rn_trainer_run_round(t); /* a refusal only means: no step */
            r[k / RUNS].score[k % RUNS * points + p] = evaluate(t, EVALUATIONS);
        }
        progress(r, points, p, o[ROUNDS].number);
    }
    return s;
}

static int draw(const plot_chart *c, const option *o) {
    plot p;
    char note[160];
    snprintf(note, sizeof note,
             "attack: %s. Return of the learned policy, 500 is perfect: mean of %d runs and its "
             "95 %% confidence",
             o[ATTACK].text, RUNS);
    if (plot_open(&p, o[OUTPUT].text, 760, 430,
                  "CartPole: ten agents, three of them Byzantine (liars)"))
        return -1;
    plot_text(&p, 20, 54, PLOT_LEFT, "note", note);
    plot_legend(&p, 66, 84, c->curve, c->curves);
    plot_curves(&p, plot_cell(plot_make_box(14, 72, 736, 350), 1, 1, 0, 0), c);
    return plot_close(&p);
}

int main(int argc, char **argv) {
    static result r[RULES];
    static double x[POINTS];
    plot_curve curve[RULES];
    option o[OPTIONS] = {
        {"--seed", "of the first run (1)", NULL, 1, 0, 1 << 30},
        {"--rounds", "5 .. 2000, a multiple of 5 (200)", NULL, 200, EVERY, MAX_ROUNDS},
        {"--attack", "sign flipping; an unknown one lists them all", "sign flipping", 0, 0, 0},
        {"file.svg", "what to draw (build/cartpole.svg)", "build/cartpole.svg", 0, 0, 0}};
    options_read(argc, argv, o, OPTIONS, "usage: 04_cartpole [options] [file.svg]\n");
    const size_t points = o[ROUNDS].number / EVERY + 1;
    const rn_status s = train(r, o, points);
    if (s != RN_OK) return fprintf(stderr, "%s\n", rn_status_text(s)), 1;
    for (size_t p = 0; p < points; p++) x[p] = (double)(2 * EVERY * p); /* two a round */
    for (int k = 0; k < RULES; k++) {
        plot_curve c = {agg_rule_name(rules[k]), points, x, r[k].y, r[k].lo, r[k].hi, k, 0};
        plot_confidence(r[k].score, RUNS, points, r[k].y, r[k].lo, r[k].hi);
        curve[k] = c;
    }
    plot_chart chart = {
        NULL, "trajectories per agent", "return", {0, x[points - 1], 0}, {0, 500, 0}, curve, RULES};
    printf("\n%d agents, %d of them are Byzantine: %s. Return, mean of %d runs:\n\n", AGENTS,
           ADVERSARIES, o[ATTACK].text, RUNS);
    plot_terminal(stdout, &chart, 80, 16, isatty(1));
    printf("\nWhat the %d learned policies get of 500, mean of 100 fresh trajectories:\n", RUNS);
    for (int k = 0; k < RULES; k++) {
        printf("  %-5s", agg_rule_name(rules[k]));
        for (int run = 0; run < RUNS; run++) printf(" %6.1f", evaluate(r[k].trainer[run], 100));
        printf("\n");
    }
    for (int k = 0; k < RULES * RUNS; k++) rn_trainer_destroy(r[k / RUNS].trainer[k % RUNS]);
    if (draw(&chart, o) != 0) return fprintf(stderr, "cannot write %s\n", o[OUTPUT].text), 1;
    return printf("\nwrote %s\n", o[OUTPUT].text), 0;
}
