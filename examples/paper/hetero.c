/* hetero: agents that do not live in the same world. CartPole, 10 agents; each honest one has a
   pole and a motor of its own, and in half of the runs noise of its own on its rewards. Measured is
   the return of the learned policy in every honest world: their mean and the worst. The question:
   does NNM lift the worst world where plain MDA drops the odd honest agents? Recipe: tasks.h, the
   same for all.

   Bucketing halves the rows and keeps f, so 10 rows in pairs allow f < 2.5: with f = 3 it is
   refused. Its line has two adversaries and f = 2, and NNM+CWTM has a second one with those, to
   compare. */
#define _POSIX_C_SOURCE 200809L
#define RESNHARPG_IMPLEMENTATION
#include "tasks.h"
#include "../envs/uneven_cartpole.h"

enum { LINES = 6, ATTACKS = 4, WORLDS = 4, AGENTS = 10, HONEST = 7, MAX_SEEDS = 8 };
enum { FIRST_SEED = 501, TRAJECTORIES = 400, EVERY = 40, LAST = 3 };
enum { CELLS = WORLDS * ATTACKS * LINES, MAX_TRIALS = CELLS * MAX_SEEDS };
enum { MDA, NNM_MDA, NNM_CWTM, CAF, BUCKETS, NNM_CWTM_2 };

typedef struct line {
    learner learner;
    agg_pre pre;
    size_t f; /* adversaries, and what the server is told */
} line;

/* clang-format off */
static const line lines[LINES] = {
    {{"MDA",                   AGG_MDA,  0, 0}, AGG_PRE_NONE,      3},
    {{"NNM+MDA",               AGG_MDA,  0, 0}, AGG_PRE_NNM,       3},
    {{"NNM+CWTM",              AGG_CWTM, 0, 0}, AGG_PRE_NNM,       3},
    {{"CAF",                   AGG_CAF,  0, 0}, AGG_PRE_NONE,      3},
    {{"bucketing+CWTM, f = 2", AGG_CWTM, 0, 0}, AGG_PRE_BUCKETING, 2},
    {{"NNM+CWTM, f = 2",       AGG_CWTM, 0, 0}, AGG_PRE_NNM,       2}};

/* Worlds of the agents, half-length and force. "spread": all over the range. "odd": five are Gym's,
   the first two are not. Agents from HONEST on are adversaries or, with f = 2, one more like the
   third. */
static const double poles[2][HONEST][2] = {
    {{0.25, 14}, {1, 6}, {0.5, 10}, {0.32, 7}, {0.4, 12}, {0.63, 8}, {0.8, 13}},
    {{0.25, 14}, {1, 6}, {0.5, 10}, {0.5, 10}, {0.5, 10}, {0.5, 10}, {0.5, 10}}};

/* deviation of the rewards' noise, where there is any: the odd agents have most */
static const double noise[HONEST] = {2, 2, 0, 1, 0, 1, 0};
/* clang-format on */

/* the values stand in the struct already: see fill_worlds() */
static rn_env world_env(const task *k, void *state) {
    uneven_cartpole *u = (uneven_cartpole *)state;
    (void)k;
    return uneven_cartpole_env(u, u->half, u->force, u->noise);
}

static const task worlds[WORLDS] = {
    {"all differ", sizeof(uneven_cartpole), world_env, cartpole_recipe, 500, 500},
    {"two are odd", sizeof(uneven_cartpole), world_env, cartpole_recipe, 500, 500},
    {"all differ, noise", sizeof(uneven_cartpole), world_env, cartpole_recipe, 500, 500},
    {"two are odd, noise", sizeof(uneven_cartpole), world_env, cartpole_recipe, 500, 500}};

typedef struct study {
    attack attacks[ATTACKS];
    trial trials[MAX_TRIALS]; /* [world][attack][line][seed] */
    size_t count, seeds;
    int quick;
    double seconds;
} study;

/* ---- one run. The score is the mean over the honest worlds; `steps` holds the worst of them
   instead, and at [0] the share that the two odd agents had in d. Only the last evaluations are
   made. */
static void fill_worlds(uneven_cartpole *u, size_t n, size_t world, int noisy) {
    for (size_t i = 0; i < n; i++) {
        const size_t like = i < HONEST ? i : 2;
        u[i].half = poles[world % 2][like][0];
        u[i].force = poles[world % 2][like][1];
        u[i].noise = noisy && world >= 2 ? noise[like] : 0;
    }
}

static void evaluate(trial *t, const rn_policy *policy, uneven_cartpole *u, const rn_real *theta,
                     size_t p) {
    double sum = 0, worst = 1e9;
    for (int i = 0; i < HONEST; i++) {
        const rn_env e = world_env(t->task, &u[i]);
        const double got = trial_evaluate(t, policy, &e, theta, p);
        sum += got;
        worst = fmin(worst, got);
    }
    t->score[p] = sum / HONEST;
    t->steps[p] = worst;
}

static double share_of_odd(const rn_trainer *trainer) {
    const double *w = rn_trainer_progress(trainer)->weight;
    double honest = 0;
    for (int i = 0; i < HONEST; i++) honest += w[i];
    return honest > 0 ? (w[0] + w[1]) / honest : 0;
}

static void run(trial *t) {
    const size_t world = (size_t)(t->task - worlds), every = trial_every(t);
    uneven_cartpole train[AGENTS], test[HONEST];
    rn_net net;
    double share = 0, rounds = 0;
    memset(train, 0, sizeof train);
    memset(test, 0, sizeof test);
    fill_worlds(train, AGENTS, world, 1);
    fill_worlds(test, HONEST, world, 0);
    rn_trainer *trainer = trial_start(t, &net, (char *)train);
    const rn_policy policy = rn_make_net_policy(&net, &t->recipe.net);
    for (size_t p = 0; p < t->points; p++) {
        for (size_t i = 0; p > 0 && i < every && !trial_stands(t, trainer); i++, rounds++)
            if (rn_trainer_run_round(trainer) == RN_OK) share += share_of_odd(trainer);
        if (p + LAST >= t->points) evaluate(t, &policy, test, rn_trainer_theta(trainer), p);
    }
    t->steps[0] = share / rounds;
    rn_trainer_destroy(trainer);
}

static void plan(study *st) {
    st->attacks[0] = attack_of_kind(RN_ATTACK_NONE, "none");
    st->attacks[1] = attack_of_vector(AGG_ATTACK_MIMIC); /* of the first agent, an odd one */
    st->attacks[2] = attack_of_vector(AGG_ATTACK_SIGN_FLIP);
    st->attacks[3] = attack_of_vector(AGG_ATTACK_IPM);
    for (int w = 0; w < WORLDS; w++)
        for (int a = 0; a < ATTACKS; a++)
            for (int l = 0; l < LINES; l++)
                for (size_t s = 0; s < st->seeds; s++) {
                    trial *t = &st->trials[st->count++];
                    *t = trial_make(&worlds[w], &lines[l].learner, &st->attacks[a], FIRST_SEED + s);
                    t->run = run;
                    t->recipe.pre[0] = lines[l].pre;
                    t->f = t->adversaries = lines[l].f;
                    t->trajectories = st->quick ? TRAJECTORIES / 2 : TRAJECTORIES;
                    t->every = EVERY;
                }
}

/* ---- what they say */
static const trial *runs_of(const study *st, int w, int a, int l) {
    return &st->trials[(size_t)((w * ATTACKS + a) * LINES + l) * st->seeds];
}

/* of the last evaluations of a run */
static double end_of(const trial *t, int worst) {
    const double *y = worst ? t->steps : t->score;
    double sum = 0;
    for (size_t p = t->points - LAST; p < t->points; p++) sum += y[p] / LAST;
    return sum;
}

static double mean_end(const study *st, int w, int a, int l, int worst) {
    double sum = 0;
    for (size_t s = 0; s < st->seeds; s++) sum += end_of(runs_of(st, w, a, l) + s, worst);
    return sum / (double)st->seeds;
}

static double mean_share(const study *st, int w, int a, int l) {
    double sum = 0;
    for (size_t s = 0; s < st->seeds; s++) sum += runs_of(st, w, a, l)[s].steps[0];
    return sum / (double)st->seeds;
}

/* NNM+MDA over MDA in the worst world, seed by seed */
static void claim_lift(paper_claims *c, const study *st, int w, int a) {
    double gain[MAX_SEEDS], mean, lo, hi;
    char claim[128];
    for (size_t s = 0; s < st->seeds; s++)
        gain[s] = end_of(runs_of(st, w, a, NNM_MDA) + s, 1) - end_of(runs_of(st, w, a, MDA) + s, 1);
    plot_confidence(gain, st->seeds, 1, &mean, &lo, &hi);
    snprintf(claim, sizeof claim, "%s, %s: NNM lifts MDA's worst world", worlds[w].name,
             st->attacks[a].name);
    paper_claim(c,
                st->seeds < 2 ? -1
                : lo > 0      ? 1
                : hi < 0      ? 0
                              : -1,
                claim, "%.0f to %.0f, gain %.0f (%.0f .. %.0f); share of the odd two %.2f to %.2f",
                mean_end(st, w, a, MDA, 1), mean_end(st, w, a, NNM_MDA, 1), mean, lo, hi,
                mean_share(st, w, a, MDA), mean_share(st, w, a, NNM_MDA));
}

static void claim_learned(paper_claims *c, const study *st, int l) {
    double least = 1e9;
    int at_w = 0, at_a = 0;
    char claim[128];
    for (int w = 0; w < WORLDS; w++)
        for (int a = 0; a < ATTACKS; a++)
            if (mean_end(st, w, a, l, 1) < least) {
                least = mean_end(st, w, a, l, 1);
                at_w = w;
                at_a = a;
            }
    snprintf(claim, sizeof claim, "%s: 475 even in the worst world, whatever the attack",
             lines[l].learner.name);
    paper_claim(c, least >= 475 ? 1 : -st->quick, claim, "least: %s, %s, %.0f", worlds[at_w].name,
                st->attacks[at_a].name, least);
}

static void print_table(paper_claims *c, const study *st, int w) {
    paper_note(c, "%s: mean return over the honest worlds / the worst of them\n", worlds[w].name);
    paper_row_name(c, 24, "rule");
    for (int a = 0; a < ATTACKS; a++) paper_cell(c, 16, "%s", st->attacks[a].name);
    paper_row_end(c, 1 + ATTACKS);
    for (int l = 0; l < LINES; l++) {
        paper_row_name(c, 24, lines[l].learner.name);
        for (int a = 0; a < ATTACKS; a++)
            paper_cell(c, 16, "%.0f / %.0f", mean_end(st, w, a, l, 0), mean_end(st, w, a, l, 1));
        paper_row_end(c, 0);
    }
}

static int write_claims(const char *path, const study *st) {
    paper_claims c;
    if (paper_claims_open(&c, path, "CartPole whose agents differ") != 0) return -1;
    paper_note(&c,
               "10 agents, 3 of them Byzantine (2 where it says f = 2); half-lengths 0.25 to 1, "
               "forces 6 to 14; %d seeds, %d trajectories per agent; return of 500, mean of the "
               "last %d evaluations of 10 trajectories in each of the 7 honest worlds. Bucketing "
               "in pairs is refused with f = 3, as 10/2 is not over 2 f.",
               (int)st->seeds, (int)st->trials[0].trajectories, LAST);
    for (int w = 0; w < WORLDS; w++)
        for (int a = 0; a < ATTACKS; a++) claim_lift(&c, st, w, a);
    for (int l = 0; l < LINES; l++) claim_learned(&c, st, l);
    for (int w = 0; w < WORLDS; w++) print_table(&c, st, w);
    paper_note(&c, "%s, %.0f s.", st->quick ? "Quick version" : "Full version", st->seconds);
    return paper_claims_close(&c);
}

static int write_csv(const char *path, const study *st) {
    FILE *out = fopen(path, "w");
    if (!out) return -1;
    fprintf(out, "worlds,attack,rule,f,seed,mean,worst,share of the odd two\n");
    for (size_t i = 0; i < st->count; i++) {
        const trial *t = &st->trials[i];
        fprintf(out, "\"%s\",%s,\"%s\",%d,%d,%.6g,%.6g,%.6g\n", t->task->name, t->attack->name,
                t->learner->name, (int)t->f, (int)t->seed, end_of(t, 0), end_of(t, 1), t->steps[0]);
    }
    const int bad = ferror(out);
    return fclose(out) != 0 || bad ? -1 : 0;
}

static void draw_panel(plot *p, const study *st, int w, int worst) {
    const char *rows[LINES], *cols[ATTACKS], *const none[LINES] = {"", "", "", "", "", ""};
    double value[LINES * ATTACKS];
    const double x = 160 + 232 * w, y = worst ? 384 : 124;
    const plot_heat h = {LINES,    ATTACKS, value, w ? none : rows, cols, {500, 0, 0},
                         "return", BUCKETS, 0};
    for (int l = 0; l < LINES; l++) {
        rows[l] = lines[l].learner.name;
        for (int a = 0; a < ATTACKS; a++) value[l * ATTACKS + a] = mean_end(st, w, a, l, worst);
    }
    for (int a = 0; a < ATTACKS; a++) cols[a] = st->attacks[a].name;
    plot_heatmap(p, plot_make_box(x, y, 212, 160), &h);
    plot_text(p, x, y - 40, PLOT_LEFT, "label", worlds[w].name);
}

static int draw(const char *path, const study *st) {
    char note[160];
    plot p;
    if (plot_open(&p, path, 1100, 600, "CartPole whose agents differ: what do the odd ones get?"))
        return -1;
    snprintf(
        note, sizeof note,
        "Return at the end of training, 500 is perfect; seeds: %d. Above: mean over the honest "
        "worlds; below: the worst of them",
        (int)st->seeds);
    plot_text(&p, 20, 54, PLOT_LEFT, "note", note);
    for (int w = 0; w < WORLDS; w++) {
        draw_panel(&p, st, w, 0);
        draw_panel(&p, st, w, 1);
    }
    return plot_close(&p);
}

int main(int argc, char **argv) {
    static study st;
    char name[3][40], settings[200];
    static const char *const ending[3] = {"md", "csv", "svg"};
    st.quick = paper_quick(argc, argv,
                           "usage: hetero [--quick]\n"
                           "CartPole whose agents differ, six rules, three attacks: writes "
                           "build/hetero.svg, .csv and .md.\n"
                           "--quick: one seed, half as long, to build/hetero_quick.*\n");
    st.seeds = st.quick ? 1 : MAX_SEEDS;
    plan(&st);
    recipe_text(settings, sizeof settings);
    for (int i = 0; i < 3; i++)
        snprintf(name[i], sizeof name[i], "build/hetero%s.%s", st.quick ? "_quick" : "", ending[i]);
    st.seconds = trials_run(st.trials, st.count,
                            st.quick ? "build/hetero_quick.part" : "build/hetero.part", settings);
    if (write_claims(name[0], &st) != 0 || write_csv(name[1], &st) != 0 || draw(name[2], &st) != 0)
        return fprintf(stderr, "cannot write build/hetero*\n"), 1;
    printf("\nwrote %s, %s, %s\n", name[2], name[1], name[0]);
    trials_free(st.trials, st.count);
    return 0;
}
