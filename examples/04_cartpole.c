/* 04: ten agents learn to balance a pole together; three of them are Byzantine. Who learns: a
   server that averages, or one that aggregates robustly? Five runs of each; only the rule differs.
   The idea: swap the mean for MDA and the adversaries no longer matter.
   Build: cc -O2 -I. examples/04_cartpole.c -o 04_cartpole -lm; mkdir -p build; ./04_cartpole */
#define _POSIX_C_SOURCE 200809L /* isatty */
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include "envs/cartpole.h"
#include "attacks.h"
#include "explain.h"
#include "options.h"
#include "progress.h"
#include "terminal.h"

enum { AGENTS = 10, ADVERSARIES = 3, RUNS = 5, RULES = 3, EVERY = 5, EVALUATIONS = 10 };
enum { MAX_ROUNDS = 2000, POINTS = MAX_ROUNDS / EVERY + 1 };
enum { SEED, ROUNDS, ATTACK, DIARY, OUTPUT, OPTIONS };

static const agg_rule rules[RULES] = {AGG_MDA, AGG_MEAN, AGG_CWTM};

typedef struct result { /* of one rule */
    rn_trainer *trainer[RUNS];
    cartpole pole[RUNS][AGENTS];
    double score[RUNS * POINTS]; /* RUNS rows, as long as there are points */
    double y[POINTS], lo[POINTS], hi[POINTS];
} result;

/* diary: NULL for none */
static rn_status start(result *r, int run, agg_rule rule, const option *o, progress_log *diary) {
    static cartpole pole;
    static rn_net net; /* the shape of the policy: the same for all, so one is enough */
    rn_env envs[AGENTS];
    rn_net_desc shape = rn_make_net_desc(4, 2);
    shape.hidden[0] = shape.hidden[1] = 16;
    for (int i = 0; i < AGENTS; i++) envs[i] = cartpole_env(&r->pole[run][i]);
    rn_trainer_desc d =
        rn_make_trainer_desc(AGENTS, ADVERSARIES, envs, rn_make_net_policy(&net, &shape));
    d.server.agg.rule = rule;
    d.server.gamma = rn_schedule_linear(0.16, 0, o[ROUNDS].number);
    d.adversaries = ADVERSARIES;
    d.attack = attack_by_name(o[ATTACK].text);
    d.seed = o[SEED].number + (uint64_t)run;
    if (diary && progress_open(diary, o[DIARY].text, &d, &net) != 0)
        options_refuse(o[DIARY].text, "cannot be written");
    const rn_status s = explain_trainer(rn_trainer_create(&r->trainer[run], &d), &d);
    if (diary) diary->server = rn_trainer_server(r->trainer[run]), diary->env = cartpole_env(&pole);
    return s;
}

/* greedy, on a pole of its own: training does not notice */
static double evaluate(rn_trainer *t, size_t trajectories) {
    static cartpole pole;
    rn_env env = cartpole_env(&pole);
    double mean = 0;
    return rn_trainer_evaluate(t, &env, trajectories, &mean) == RN_OK ? mean : 0;
}

static void say(const result *r, size_t points, size_t p, size_t rounds) {
    char text[160] = "";
    for (int k = 0; k < RULES; k++) {
        double mean = 0;
        for (size_t run = 0; run < RUNS; run++) mean += r[k].score[run * points + p] / RUNS;
        snprintf(text + strlen(text), sizeof text - strlen(text), "  %s %5.1f",
                 agg_rule_name(rules[k]), mean);
    }
    terminal_say(p * EVERY, rounds, "%s", text);
}

/* all runs of all rules in step; the first keeps a diary (progress.h): what to look at meanwhile */
static rn_status train(result *r, const option *o, size_t points, progress_log *diary) {
    rn_status s = RN_OK;
    for (int k = 0; k < RULES * RUNS && s == RN_OK; k++)
        s = start(&r[k / RUNS], k % RUNS, rules[k / RUNS], o, k ? NULL : diary);
    for (size_t p = 0; s == RN_OK && p < points; p++) {
        for (size_t k = 0; k < RULES * RUNS; k++) {
            rn_trainer *t = r[k / RUNS].trainer[k % RUNS];
            for (int i = 0; p > 0 && i < EVERY; i++)
                (void)rn_trainer_run_round(t); /* a refusal only means: no step */
            r[k / RUNS].score[k % RUNS * points + p] = evaluate(t, EVALUATIONS);
        }
        say(r, points, p, o[ROUNDS].number);
    }
    return s;
}

static int draw(const plot_chart *c, const option *o) {
    const plot_box box = plot_cell_for_names(plot_make_box(14, 52, 736, 370), 1, 1, 0, 0, 78);
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
    plot_named_curves(&p, box, c);
    plot_tick_y(&p, box, c, 500);
    return plot_close(&p);
}

/* rules[1] is the mean */
static const char *verdict(const result *r, size_t points) {
    const int mean = r[1].y[points - 1] > 450, robust = r[0].y[points - 1] > 450;
    if (!robust) return "not learnt yet";
    return mean ? "MDA learns; here the mean does too" : "MDA learns, the mean does not";
}

int main(int argc, char **argv) {
    static result r[RULES];
    static progress_log diary; /* of the first run with MDA */
    static double x[POINTS];
    plot_curve curve[RULES];
    option o[OPTIONS] = {
        {"--seed", "of the first run (1)", NULL, 1, 0, 1 << 30},
        {"--rounds", "5 .. 2000, a multiple of 5 (100)", NULL, 100, EVERY, MAX_ROUNDS},
        {"--attack", "sign flipping; an unknown one lists them all", "sign flipping", 0, 0, 0},
        {"--diary", "of the first run with MDA (build/cartpole_diary: .csv, .svg)",
         "build/cartpole_diary", 0, 0, 0},
        {"file.svg", "what to draw (build/cartpole.svg)", "build/cartpole.svg", 0, 0, 0}};
    options_read(argc, argv, o, OPTIONS, "usage: 04_cartpole [options] [file.svg]\n");
    if (o[ROUNDS].number % EVERY) options_refuse(o[ROUNDS].text, "no multiple of 5 (--rounds)");
    const size_t points = o[ROUNDS].number / EVERY + 1;
    if (train(r, o, points, &diary) != RN_OK) return 1;                 /* explained */
    for (size_t p = 0; p < points; p++) x[p] = (double)(8 * EVERY * p); /* eight a round */
    for (int k = 0; k < RULES; k++) {
        plot_curve c = {agg_rule_name(rules[k]), points, x, r[k].y, r[k].lo, r[k].hi, k, 0};
        plot_confidence(r[k].score, RUNS, points, r[k].y, r[k].lo, r[k].hi);
        curve[k] = c;
    }
    plot_chart chart = {
        NULL, "trajectories per agent", "return", {0, x[points - 1], 0}, {0, 525, 0}, curve, RULES};
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
    if (draw(&chart, o) || progress_close(&diary, "CartPole with MDA: the diary of a run"))
        return fprintf(stderr, "cannot write %s or %s.svg\n", o[OUTPUT].text, o[DIARY].text), 1;
    printf("\nwrote %s and %s.csv, .svg\n", o[OUTPUT].text, o[DIARY].text);
    return printf("\nVerdict: %s\n", verdict(r, points)), 0;
}
