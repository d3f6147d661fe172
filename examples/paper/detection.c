/* detection: who lies? server.watch on CartPole, ten agents of which three are adversaries, with
   every attack there is. How many honest agents are called liars, how many adversaries are found,
   and after how many rounds. Recipe: tasks.h, NNM before MDA. */
#define _POSIX_C_SOURCE 200809L
#define RESNHARPG_IMPLEMENTATION
#include "tasks.h"

enum { AGENTS = 10, ADVERSARIES = 3, FIRST_SEED = 501, SEEDS = 8, PEACEFUL = 40, LEVELS = 60 };
enum { ATTACKS = AGG_ATTACK_COUNT + 7, MAX_TRIALS = ATTACKS * SEEDS + PEACEFUL };

static const double alpha = 0.01; /* of a false alarm about any of the ten, in a whole run */

/* Of each attack: an agent's largest evidence, and the first round at the limit (0: none). */
typedef struct result {
    attack attack;
    size_t adversaries, runs, honest, liars; /* agents, counted over the runs */
    size_t alarms, loose;                    /* honest ones at the limit, at that of one agent */
    double high[2][MAX_TRIALS * AGENTS];     /* honest, adversaries */
    double found[SEEDS * ADVERSARIES];       /* rounds, those found only */
    size_t founds;
} result;

typedef struct study {
    result results[ATTACKS];
    trial trials[MAX_TRIALS];
    size_t of[MAX_TRIALS], count, attacks, rounds;
    int quick;
} study;

/* score: largest evidence of each agent; steps: the round it reached the limit */
static void run(trial *t) {
    char *states = (char *)calloc(t->agents, t->task->state_size);
    const double limit = rn_evidence_limit(alpha, t->agents);
    const size_t all = t->trajectories / trial_per_round(t);
    rn_net net;
    rn_trainer *trainer;
    if (!states || t->points < t->agents) exit(1);
    trainer = trial_start(t, &net, states);
    for (size_t round = 1; round <= all; round++) {
        (void)rn_trainer_run_round(trainer);
        const double *e = rn_server_evidence(rn_trainer_server(trainer));
        for (size_t i = 0; i < t->agents; i++) {
            if (e[i] > t->score[i]) t->score[i] = e[i];
            if (e[i] >= limit && !(t->steps[i] > 0)) t->steps[i] = (double)round;
        }
    }
    rn_trainer_destroy(trainer);
    free(states);
}

static void add(study *st, attack a, size_t adversaries) {
    const size_t peaceful = st->quick ? 4 : PEACEFUL, seeds = st->quick ? 1 : SEEDS;
    result *r = &st->results[st->attacks];
    const learner *l = learners;
    while (l->rule != AGG_MDA) l++;
    r->attack = a;
    r->adversaries = adversaries;
    for (size_t s = 0; s < (adversaries ? seeds : peaceful); s++) {
        trial t = trial_make(&tasks[0][0], l, &r->attack, FIRST_SEED + s);
        t.run = run;
        t.recipe.watch = RN_WATCH_NEWS;
        t.adversaries = adversaries;
        t.trajectories = st->rounds * trial_per_round(&t);
        t.every = t.trajectories / (AGENTS + 1);
        st->of[st->count] = st->attacks;
        st->trials[st->count++] = t;
    }
    st->attacks++;
}

static attack changed(agg_attack_kind kind, const char *name, rn_knowledge knows, int slow) {
    attack a = attack_of_vector(kind);
    a.name = name;
    a.desc.knows = knows;
    a.desc.wait = slow ? 20 : 0;
    a.desc.ramp = slow ? 30 : 0;
    return a;
}

static void plan(study *st) {
    add(st, attack_of_kind(RN_ATTACK_NONE, "no adversaries"), 0);
    for (int k = 0; k < AGG_ATTACK_COUNT; k++)
        add(st, attack_of_vector((agg_attack_kind)k), ADVERSARIES);
    add(st, changed(AGG_ATTACK_SIGN_FLIP, "sign flipping, slow poison", RN_KNOWS_ALL, 1),
        ADVERSARIES);
    add(st, changed(AGG_ATTACK_MIN_MAX, "Min-Max, knows adversaries", RN_KNOWS_ADVERSARIES, 0),
        ADVERSARIES);
    add(st, changed(AGG_ATTACK_MIMIC, "mimic, one adversary", RN_KNOWS_ALL, 0), 1);
    add(st, attack_of_kind(RN_ATTACK_RANDOM_ACTION, "random action"), ADVERSARIES);
    add(st, attack_of_kind(RN_ATTACK_REWARD_FLIP, "flipped reward"), ADVERSARIES);
    add(st, attack_of_kind(RN_ATTACK_REWARD_POISON, "poisoned reward"), ADVERSARIES);
}

static void collect(study *st) {
    const double one = rn_evidence_limit(alpha, 1);
    for (size_t i = 0; i < st->count; i++) {
        const trial *t = &st->trials[i];
        result *r = &st->results[st->of[i]];
        r->runs++;
        for (size_t a = 0; a < AGENTS; a++) {
            const int liar = a + r->adversaries >= AGENTS;
            r->high[liar][liar ? r->liars++ : r->honest++] = t->score[a];
            if (!liar) r->alarms += t->steps[a] > 0;
            if (!liar) r->loose += t->score[a] >= one;
            if (liar && t->steps[a] > 0) r->found[r->founds++] = t->steps[a];
        }
    }
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* the middle one of all adversaries; 0: more than half were not found */
static double median_delay(result *r) {
    qsort(r->found, r->founds, sizeof *r->found, ascending);
    return 2 * r->founds > r->liars ? r->found[r->liars / 2] : 0;
}

static int write_claims(const char *path, study *st, double seconds) {
    size_t honest = 0, loose = 0;
    paper_claims c;
    if (paper_claims_open(&c, path, "Who lies? server.watch on CartPole") != 0) return -1;
    paper_note(&c,
               "Ten agents, %d rounds, limit ln(10/%g) = %.1f: a false alarm about any of the ten "
               "in at most one run of %.0f. found: adversaries that reached it; median: rounds "
               "until half of them had; alarms: honest agents that reached it.",
               (int)st->rounds, alpha, rn_evidence_limit(alpha, AGENTS), 1 / alpha);
    paper_row_name(&c, 28, "attack");
    for (int k = 0; k < 4; k++) {
        static const char *const head[4] = {"runs", "found", "median", "alarms"};
        paper_cell(&c, 12, "%s", head[k]);
    }
    paper_row_end(&c, 5);
    for (size_t i = 0; i < st->attacks; i++) {
        result *r = &st->results[i];
        const double median = median_delay(r);
        paper_row_name(&c, 28, r->attack.name);
        paper_cell(&c, 12, "%d", (int)r->runs);
        paper_cell(&c, 12, "%d of %d", (int)r->founds, (int)r->liars);
        if (median > 0)
            paper_cell(&c, 12, "%.0f", median);
        else
            paper_cell(&c, 12, "-");
        paper_cell(&c, 12, "%d of %d", (int)r->alarms, (int)r->honest);
        paper_row_end(&c, 0);
        if (r->adversaries != 1) {
            honest += r->honest;
            loose += r->loose;
        }
    }
    paper_note(&c, "Over all rows but that of the lone mimic:");
    paper_claim(&c, (double)loose <= alpha * (double)honest,
                "at most 1 % of the honest ever reach ln(1/0.01)", "%d of %d", (int)loose,
                (int)honest);
    paper_note(&c, "%s, %.0f s.", st->quick ? "Quick version" : "Full version", seconds);
    return paper_claims_close(&c);
}

static int write_csv(const char *path, study *st) {
    FILE *out = fopen(path, "w");
    if (!out) return -1;
    fprintf(out, "attack,runs,adversaries,found,median rounds,honest,alarms,alarms of one\n");
    for (size_t i = 0; i < st->attacks; i++) {
        result *r = &st->results[i];
        fprintf(out, "\"%s\",%d,%d,%d,%g,%d,%d,%d\n", r->attack.name, (int)r->runs, (int)r->liars,
                (int)r->founds, median_delay(r), (int)r->honest, (int)r->alarms, (int)r->loose);
    }
    const int bad = ferror(out);
    return fclose(out) != 0 || bad ? -1 : 0;
}

static double share_above(const double *x, size_t n, double limit) {
    size_t above = 0;
    for (size_t i = 0; i < n; i++) above += x[i] >= limit;
    return n ? (double)above / (double)n : 0;
}

typedef struct line { /* of both panels */
    double x[LEVELS], y[LEVELS], round[LEVELS], found[LEVELS];
} line;

/* left: limits from high to low; right: rounds */
static void trace(const result *r, size_t rounds, line *to) {
    for (size_t k = 0; k < LEVELS; k++) {
        const double limit = 12.0 * (double)(LEVELS - 1 - k) / (LEVELS - 1);
        size_t found = 0;
        to->x[k] = share_above(r->high[0], r->honest, limit);
        to->y[k] = share_above(r->high[1], r->liars, limit);
        to->round[k] = (double)rounds * (double)k / (LEVELS - 1);
        for (size_t i = 0; i < r->founds; i++) found += r->found[i] <= to->round[k];
        to->found[k] = r->liars ? (double)found / (double)r->liars : 0;
    }
}

static int draw(const char *path, const study *st) {
    static const char *const shown[] = {
        "sign flipping", "inner product", "ALIE",           "Min-Max",
        "worst",         "random action", "flipped reward", "sign flipping, slow poison"};
    enum { SHOWN = sizeof shown / sizeof *shown };
    static line lines[SHOWN];
    plot_curve left[SHOWN], right[SHOWN];
    char note[200];
    plot p;
    plot_chart c = {"every limit: ROC",
                    "share of honest agents called liars",
                    "share of adversaries found",
                    {0, 1, 0},
                    {0, 1.04, 0},
                    left,
                    SHOWN};
    for (size_t k = 0; k < SHOWN; k++) {
        size_t i = 0;
        while (i + 1 < st->attacks && strcmp(st->results[i].attack.name, shown[k]) != 0) i++;
        trace(&st->results[i], st->rounds, &lines[k]);
        const plot_curve l = {shown[k], LEVELS, lines[k].x, lines[k].y, NULL, NULL, (int)k, 0};
        left[k] = right[k] = l;
        right[k].x = lines[k].round;
        right[k].y = lines[k].found;
    }
    if (paper_figure(&p, path, 1240, 430, "Who lies? Evidence over rounds, CartPole") != 0)
        return -1;
    snprintf(
        note, sizeof note,
        "Three of ten agents are Byzantine, seeds: %d. (a) within a run, for every limit. (b) at "
        "the limit of one false alarm in a hundred runs, by the round",
        st->quick ? 1 : SEEDS);
    plot_text(&p, 20, 54, PLOT_LEFT, "note", note);
    plot_curves(&p, plot_make_box(80, 96, 440, 280), &c);
    c.title = "found so far, limit 6.9";
    c.x_label = "round";
    c.x.hi = (double)st->rounds;
    c.curve = right;
    plot_named_curves(&p, plot_make_box(600, 96, 440, 280), &c);
    return plot_close(&p);
}

int main(int argc, char **argv) {
    static study st;
    static const char *const ending[4] = {"part", "md", "csv", "svg"};
    char settings[200], path[4][64];
    size_t n;
    st.quick = paper_quick(argc, argv,
                           "usage: detection [--quick]\n"
                           "False alarms and delays of server.watch, attack by attack: writes "
                           "build/detection.svg, .csv and .md.\n"
                           "--quick: one seed, fewer rounds, to build/detection_quick.*\n");
    st.rounds = st.quick ? 40 : 150;
    plan(&st);
    recipe_text(settings, sizeof settings);
    n = strlen(settings);
    snprintf(settings + n, sizeof settings - n, "; %d rounds", (int)st.rounds);
    for (int i = 0; i < 4; i++) (void)paper_path(path[i], "detection", st.quick, ending[i]);
    const double seconds = trials_run(st.trials, st.count, path[0], settings);
    collect(&st);
    if (write_claims(path[1], &st, seconds) != 0 || write_csv(path[2], &st) != 0 ||
        draw(path[3], &st) != 0)
        return fprintf(stderr, "cannot write build/detection*\n"), 1;
    printf("\nwrote %s, %s and %s\n", path[3], path[2], path[1]);
    trials_free(st.trials, st.count);
    return 0;
}
