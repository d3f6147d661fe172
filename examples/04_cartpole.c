/* 04: ten agents learn to balance a pole together; three of them Byzantine. Who learns: a server
   that averages, or one that aggregates robustly? Same task, same seeds, same schedules: only the
   rule differs. Five runs of each, side by side. The idea: swap the mean for MDA and the
   adversaries no longer matter.
   Build: cc -O2 -I. examples/04_cartpole.c -o 04_cartpole -lm && ./04_cartpole cartpole.svg */
#define _POSIX_C_SOURCE 200809L /* isatty */
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include "envs/cartpole.h"
#include "plot.h"
#include <stdlib.h>
#include <unistd.h>

enum {
    AGENTS = 10,
    ADVERSARIES = 3,
    RUNS = 5,
    RULES = 3,
    EVERY = 5,
    EVALUATIONS = 10,
    MAX_ROUNDS = 2000
};

enum { POINTS = MAX_ROUNDS / EVERY + 1, ATTACKS = AGG_ATTACK_COUNT + 4 };

static const agg_rule rules[RULES] = {AGG_MDA, AGG_MEAN, AGG_CWTM};

typedef struct options {
    const char *path, *attack_name;
    rn_attack attack;
    uint64_t seed;
    size_t rounds;
} options;

typedef struct result { /* of one rule */
    rn_trainer *trainer[RUNS];
    cartpole pole[RUNS][AGENTS];
    double score[RUNS * POINTS]; /* RUNS rows, as long as there are points */
    double y[POINTS], lo[POINTS], hi[POINTS];
} result;

/* vector attacks, then the other kinds of attacks */
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

static const char *attack_by_name(const char *name, rn_attack *attack) {
    for (int i = 0; i < ATTACKS; i++)
        if (strcmp(attack_by_index(i, attack), name) == 0) return attack_by_index(i, attack);
    return NULL;
}

static rn_status start(result *r, int run, agg_rule rule, const options *o) {
    static rn_net net; /* the shape of the policy: the same for all, so one is enough */
    rn_env envs[AGENTS];
    rn_net_desc shape = rn_make_net_desc(4, 2);
    shape.hidden[0] = shape.hidden[1] = 16;
    for (int i = 0; i < AGENTS; i++) envs[i] = cartpole_env(&r->pole[run][i]);
    rn_trainer_desc d =
        rn_make_trainer_desc(AGENTS, ADVERSARIES, envs, rn_make_net_policy(&net, &shape));
    d.server.agg.rule = rule;
    d.server.gamma = rn_schedule_linear(0.08, 0, o->rounds);
    d.adversaries = ADVERSARIES;
    d.attack = o->attack;
    d.seed = o->seed + (uint64_t)run;
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
static rn_status train(result *r, const options *o, size_t points) {
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
        progress(r, points, p, o->rounds);
    }
    return s;
}

static int draw(const plot_chart *c, const options *o) {
    plot p;
    char note[160];
    snprintf(note, sizeof note,
             "attack: %s. Return of the learned policy, 500 is perfect: mean of %d runs and its "
             "95 %% confidence",
             o->attack_name, RUNS);
    if (plot_open(&p, o->path, 760, 430, "CartPole: ten agents, three of them Byzantine") != 0)
        return -1;
    plot_text(&p, 20, 54, PLOT_LEFT, "note", note);
    plot_legend(&p, 66, 84, c->curve, c->curves);
    plot_curves(&p, plot_cell(plot_make_box(14, 72, 736, 350), 1, 1, 0, 0), c);
    return plot_close(&p);
}

static int usage(int status) {
    rn_attack attack;
    printf("usage: 04_cartpole [--seed N] [--rounds N] [--attack NAME] [file.svg]\n"
           "Trains on CartPole and draws file.svg (build/cartpole.svg). --seed: of the first run "
           "(1);\n"
           "--rounds: at most %d (200); --attack: one of\n",
           MAX_ROUNDS);
    for (int i = 0; i < ATTACKS; i++) printf("  \"%s\"\n", attack_by_index(i, &attack));
    return status;
}

/* 0, or the line cannot be understood */
static int parse(int argc, char **argv, options *o) {
    o->path = "build/cartpole.svg", o->seed = 1, o->rounds = 200,
    o->attack_name = attack_by_index(0, &o->attack);
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--seed") == 0)
            o->seed = strtoull(value, NULL, 10), i++;
        else if (strcmp(argv[i], "--rounds") == 0)
            o->rounds = strtoul(value, NULL, 10) / EVERY * EVERY, i++;
        else if (strcmp(argv[i], "--attack") == 0)
            o->attack_name = attack_by_name(value, &o->attack), i++;
        else if (argv[i][0] != '-')
            o->path = argv[i];
        else
            return -1;
    }
    return o->attack_name && o->rounds >= EVERY && o->rounds <= MAX_ROUNDS ? 0 : -1;
}

int main(int argc, char **argv) {
    static result r[RULES];
    static double x[POINTS];
    plot_curve curve[RULES];
    options o;
    if (parse(argc, argv, &o) != 0)
        return usage(argc > 1 && strcmp(argv[1], "--help") == 0 ? 0 : 2);
    const size_t points = o.rounds / EVERY + 1;
    rn_status s = train(r, &o, points);
    if (s != RN_OK) return fprintf(stderr, "%s\n", rn_status_text(s)), 1;
    for (size_t p = 0; p < points; p++)
        x[p] = (double)(2 * EVERY * p); /* a round is two trajectories for every agent */
    for (int k = 0; k < RULES; k++) {
        plot_curve c = {agg_rule_name(rules[k]), points, x, r[k].y, r[k].lo, r[k].hi, k, 0};
        plot_confidence(r[k].score, RUNS, points, r[k].y, r[k].lo, r[k].hi);
        curve[k] = c;
    }
    plot_chart chart = {
        NULL, "trajectories per agent", "return", {0, x[points - 1], 0}, {0, 500, 0}, curve, RULES};
    printf("\n%d agents, %d Byzantine (%s). Return, mean of %d runs:\n\n", AGENTS, ADVERSARIES,
           o.attack_name, RUNS);
    plot_terminal(stdout, &chart, 80, 16, isatty(1));
    printf("\nWhat the %d learned policies get of 500, mean of 100 fresh trajectories:\n", RUNS);
    for (int k = 0; k < RULES; k++) {
        printf("  %-5s", agg_rule_name(rules[k]));
        for (int run = 0; run < RUNS; run++) printf(" %6.1f", evaluate(r[k].trainer[run], 100));
        printf("\n");
    }
    for (int k = 0; k < RULES * RUNS; k++) rn_trainer_destroy(r[k / RUNS].trainer[k % RUNS]);
    if (draw(&chart, &o) != 0) return fprintf(stderr, "cannot write %s\n", o.path), 1;
    return printf("\nwrote %s\n", o.path), 0;
}
