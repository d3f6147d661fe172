/* ablation: no bad seeds. Part one: the recipes of tasks.h on every cell of figure 1 (six resilient
   rules, three attacks), many seeds, and every single run counts, not their mean. Part two: each
   ingredient of the recipe taken away, on the cells that decide. The seeds of part one were not
   used to choose anything; those of part two were. */
#define _POSIX_C_SOURCE 200809L
#define RESNHARPG_IMPLEMENTATION
#include "trials.h"
#include "tasks.h"

enum { ATTACKS = 3, SEEDS_FROM = 9101, CHOSEN_FROM = 3001 };
enum { MAX_TRIALS = 4096 };

typedef struct change { /* one ingredient less, or another */
    const char *name;
    void (*make)(recipe *r);
} change;

static void as_it_is(recipe *r) { (void)r; }

static void no_flat(recipe *r) { r->method.flat = 0; }

static void no_clip(recipe *r) { r->method.clip = 0; }

static void no_soft(recipe *r) { r->soft = 0; }

static void no_nnm(recipe *r) { r->pre[0] = AGG_PRE_NONE; }

static void eta_half(recipe *r) { r->eta = 0.5; }

static void less_discount(recipe *r) { r->method.discount = 1 - (1 - r->method.discount) / 2; }

/* gamma ends at a third of its start, not at 0 */
static void no_end(recipe *r) { r->gamma.end = r->gamma.value / 3; }

static void long_fall(recipe *r) { r->gamma.rounds *= 2; }

static void short_episodes(recipe *r) { r->method.horizon = 200; }

/* a second trajectory for v instead of both for both */
static void no_reuse(recipe *r) {
    r->method.reuse = 0;
    r->method.batch = 1;
}

static void one_each(recipe *r) {
    r->method.reuse = 1;
    r->method.batch = 1;
}

/* every departure from Algorithm 1 as the paper has it, but for the schedule */
static void strict(recipe *r) {
    r->method.flat = r->method.causal = r->soft = 0;
    r->method.clip = 0;
    no_reuse(r);
    r->method.baseline = RN_BASELINE_NONE;
    r->pre[0] = AGG_PRE_NONE;
}

static const change changes[] = {{"as it is", as_it_is},
                                 {"not flat", no_flat},
                                 {"no clip", no_clip},
                                 {"not soft", no_soft},
                                 {"no NNM", no_nnm},
                                 {"eta 0.5", eta_half},
                                 {"1-discount halved", less_discount},
                                 {"gamma ends at a third", no_end},
                                 {"gamma falls half as fast", long_fall},
                                 {"H 200", short_episodes},
                                 {"no reuse", no_reuse},
                                 {"one trajectory a round", one_each},
                                 {"strict Algorithm 1", strict}};

enum { CHANGES = sizeof changes / sizeof *changes };

typedef struct goal { /* of a task */
    size_t seeds, chosen_seeds, trajectories;
} goal;

static const goal goals[TASKS] = {{20, 20, 500}, {10, 5, 900}};

/* the rules of part two */
static const int deciding[] = {0};
#define DECIDING_NAMES "MDA"

enum { DECIDING = sizeof deciding / sizeof *deciding };

typedef struct study {       /* one part of one task */
    attack attacks[ATTACKS]; /* noise, random action, sign flipping */
    trial trials[MAX_TRIALS];
    size_t count;
    int task, ingredients, quick;
} study;

/* ---- the runs: [attack][rule][seed], or [change][attack][rule][seed] */
static void add(study *s, int a, int l, const change *c, uint64_t seed) {
    trial *k = &s->trials[s->count++];
    *k = trial_make(&tasks[0][s->task], &learners[l], &s->attacks[a], seed);
    k->trajectories = s->quick ? 200 : goals[s->task].trajectories;
    if (c) k->label = c->name;
    if (c) c->make(&k->recipe);
}

/* the environment's SEEDS says if fewer are wanted */
static size_t seeds_of(const study *s) {
    const goal *g = &goals[s->task];
    const size_t all = s->ingredients ? g->chosen_seeds : g->seeds;
    const char *wanted = s->quick ? "1" : getenv("SEEDS");
    const size_t most = wanted ? (size_t)atol(wanted) : all;
    return most > 0 && most < all ? most : all;
}

static void plan_goal(study *s) {
    for (int a = 0; a < ATTACKS; a++)
        for (int l = 0; l < ROBUST; l++)
            for (size_t k = 0; k < seeds_of(s); k++) add(s, a, l, NULL, SEEDS_FROM + k);
}

static void plan_ingredients(study *s) {
    for (int c = 0; c < CHANGES; c++)
        for (int a = 1; a < ATTACKS; a++)
            for (int l = 0; l < DECIDING; l++)
                for (size_t k = 0; k < seeds_of(s); k++)
                    add(s, a, deciding[l], &changes[c], CHOSEN_FROM + k);
}

static void plan(study *s) {
    s->count = 0;
    s->attacks[0] = attack_of_vector(AGG_ATTACK_NOISE);
    s->attacks[1] = attack_of_kind(RN_ATTACK_RANDOM_ACTION, "random action");
    s->attacks[2] = attack_of_vector(AGG_ATTACK_SIGN_FLIP);
    if (s->ingredients)
        plan_ingredients(s);
    else
        plan_goal(s);
}

/* ---- what they say */
static void heading(paper_claims *c, const char *what) {
    paper_row_name(c, 26, what);
    paper_cell(c, 10, "failed");
    paper_cell(c, 8, "fell");
    paper_cell(c, 8, "worst");
    paper_cell(c, 10, "all once");
    paper_cell(c, 12, "all stay");
    paper_cell(c, 9, "Msteps");
    paper_row_end(c, 7);
}

static void cell_x(paper_claims *c, int width, double x) {
    if (x < 1e9)
        paper_cell(c, width, "%g", x);
    else
        paper_cell(c, width, "never");
}

static void row(paper_claims *c, const char *name, const tally *y) {
    paper_row_name(c, 26, name);
    paper_cell(c, 10, "%d of %d", (int)y->failed, (int)y->runs);
    paper_cell(c, 8, "%d", (int)y->fell);
    paper_cell(c, 8, "%.0f", y->worst);
    cell_x(c, 10, y->first);
    cell_x(c, 12, y->since);
    paper_cell(c, 9, "%.2f", y->steps);
    paper_row_end(c, 0);
}

static void show_goal(paper_claims *c, const study *s) {
    const char *where = tasks[0][s->task].name;
    const trial *runs = s->trials;
    const tally all = tally_of(runs, s->count, good_return[s->task]);
    char name[64];
    paper_note(c,
               "%s, the recipe of tasks.h, %d seeds from %d: a run fails if one of its last %d "
               "exams is below %g. All once, all stay: the x by which every run had passed an "
               "exam, and from which on every run passed all.\n",
               where, (int)seeds_of(s), SEEDS_FROM, TRIAL_LAST, good_return[s->task]);
    heading(c, "cell");
    for (int a = 0; a < ATTACKS; a++)
        for (int l = 0; l < ROBUST; l++, runs += seeds_of(s)) {
            const tally y = tally_of(runs, seeds_of(s), good_return[s->task]);
            snprintf(name, sizeof name, "%s, %s", s->attacks[a].name, learners[l].name);
            row(c, name, &y);
        }
    row(c, "all", &all);
    paper_note(c, "%s: the goal.", where);
    paper_claim(c, all.failed == 0, "every run of every cell ends well",
                "%d of %d fail, worst %.0f", (int)all.failed, (int)all.runs, all.worst);
    paper_claim(c, all.since <= 800, "and is there for good by x = 800", "x = %g", all.since);
}

static void show_ingredients(paper_claims *c, const study *s) {
    const size_t runs = s->count / CHANGES;
    paper_note(c,
               "%s, one ingredient changed: %s under random action and sign flipping, %d seeds "
               "from %d.\n",
               tasks[0][s->task].name, DECIDING_NAMES, (int)seeds_of(s), CHOSEN_FROM);
    heading(c, "change");
    for (size_t k = 0; k < CHANGES; k++) {
        const tally y = tally_of(s->trials + k * runs, runs, good_return[s->task]);
        row(c, changes[k].name, &y);
    }
}

static void run_part(study *s, paper_claims *c, FILE *csv) {
    char settings[200], part[96];
    double seconds;
    plan(s);
    recipe_text(settings, sizeof settings);
    snprintf(part, sizeof part, "build/ablation_%s_%s%s.part", tasks[0][s->task].name,
             s->ingredients ? "ingredients" : "goal", s->quick ? "_quick" : "");
    seconds = trials_run(s->trials, s->count, part, settings);
    if (s->ingredients)
        show_ingredients(c, s);
    else
        show_goal(c, s);
    paper_note(c, "(%.0f s)", seconds);
    fflush(c->md);
    for (size_t i = 0; i < s->count; i++) trial_write(csv, &s->trials[i], good_return[s->task]);
    fflush(csv);
    trials_free(s->trials, s->count);
}

int main(int argc, char **argv) {
    static study s;
    const unsigned given = paper_options(
        argc, argv, "--quick --goal --ingredients --cartpole --pendulum ",
        "usage: ablation [--quick] [--goal] [--ingredients] [--cartpole] [--pendulum]\n"
        "Counts bad seeds, part by part (all, or those named): writes build/ablation.md and .csv.\n"
        "--quick: 1 seed, 200 trajectories.\n");
    const unsigned parts = given & 6 ? given >> 1 & 3 : 3, which = given >> 3 ? given >> 3 : 3;
    char to[64], md[64];
    paper_claims c;
    s.quick = (int)(given & 1);
    FILE *csv = fopen(paper_path(to, "ablation", s.quick, "csv"), "w");
    if (!csv ||
        paper_claims_open(&c, paper_path(md, "ablation", s.quick, "md"), "No bad seeds") != 0)
        return fprintf(stderr, "cannot write build/ablation.*\n"), 1;
    paper_note(&c,
               "Ten agents, three of them Byzantine; an exam is %d greedy trajectories, every %d "
               "trajectories per agent.%s",
               TRIAL_TRAJECTORIES, TRIAL_EVERY,
               s.quick ? " Short version: nothing follows from it." : "");
    trial_write(csv, NULL, 0);
    for (s.ingredients = 0; s.ingredients < 2; s.ingredients++)
        for (s.task = 0; s.task < TASKS; s.task++)
            if (parts >> s.ingredients & 1 && which >> s.task & 1) run_part(&s, &c, csv);
    if (paper_claims_close(&c) != 0 || fclose(csv) != 0)
        return fprintf(stderr, "cannot write build/ablation.*\n"), 1;
    printf("\nwrote %s and %s\n", md, to);
    return 0;
}
