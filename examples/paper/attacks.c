/* attacks: what the paper does not try. The eight algorithms of figure 1 on CartPole against eleven
   attacks; f = 0 to 4 of 10 agents are adversaries, and the server knows f. Shown: the return at
   the end of training, and the attack that hurts each rule most. Recipe: tasks.h, the same for
   all. */
#define _POSIX_C_SOURCE 200809L
#define RESNHARPG_IMPLEMENTATION
#include "tasks.h"

enum { ATTACKS = 11, MAX_F = 4, SHOWN_F = 3, MAX_SEEDS = 2, FIRST_SEED = 201 };
enum { TRAJECTORIES = 300, LAST = 3, MAX_TRIALS = LEARNERS * (ATTACKS * MAX_F + 1) * MAX_SEEDS };

typedef struct study {
    attack attacks[ATTACKS], none;
    trial trials[MAX_TRIALS];
    size_t count, seeds;
    /* mean over seeds and the last evaluations; f = 0: the same for all attacks */
    double final[LEARNERS][MAX_F + 1][ATTACKS];
    int quick;
} study;

static void plan(study *st) {
    static const agg_attack_kind vector[8] = {
        AGG_ATTACK_NOISE, AGG_ATTACK_SIGN_FLIP, AGG_ATTACK_ZERO, AGG_ATTACK_ALIE,
        AGG_ATTACK_IPM,   AGG_ATTACK_MIMIC,     AGG_ATTACK_NAN,  AGG_ATTACK_INF};
    for (int a = 0; a < 8; a++) st->attacks[a] = attack_of_vector(vector[a]);
    st->attacks[8] = attack_of_kind(RN_ATTACK_RANDOM_ACTION, "random action");
    st->attacks[9] = attack_of_kind(RN_ATTACK_REWARD_FLIP, "flipped reward");
    st->attacks[10] = attack_of_kind(RN_ATTACK_SILENCE, "silence");
    st->none = attack_of_kind(RN_ATTACK_NONE, "no adversaries");
    for (int l = 0; l < LEARNERS; l++)
        for (size_t f = 0; f <= MAX_F; f++)
            for (int a = 0; a < (f ? ATTACKS : 1); a++)
                for (size_t s = 0; s < st->seeds && (!st->quick || f == 0 || f == SHOWN_F); s++) {
                    trial t = trial_make(&tasks[0][0], &learners[l],
                                         f ? &st->attacks[a] : &st->none, FIRST_SEED + s);
                    t.f = t.adversaries = f;
                    t.trajectories = TRAJECTORIES;
                    st->trials[st->count++] = t;
                }
}

static void collect(study *st) {
    for (size_t i = 0; i < st->count; i++) {
        const trial *t = &st->trials[i];
        double sum = 0;
        for (size_t p = t->points - LAST; p < t->points; p++)
            sum += t->score[p] / LAST / (double)st->seeds;
        for (int a = 0; a < ATTACKS; a++)
            if (t->f == 0 || t->attack == &st->attacks[a])
                st->final[t->learner - learners][t->f][a] += sum;
    }
}

/* the attack that hurts most */
static int worst_attack(const study *st, int l, size_t f) {
    int worst = 0;
    for (int a = 1; a < ATTACKS; a++)
        if (st->final[l][f][a] < st->final[l][f][worst]) worst = a;
    return worst;
}

static int write_claims(const char *path, const study *st, double seconds) {
    paper_claims c;
    if (paper_claims_open(&c, path, "CartPole under eleven attacks") != 0) return -1;
    paper_note(&c,
               "10 agents, f of them are Byzantine; %d seeds, %d trajectories per agent; return "
               "of 500, mean of the last %d evaluations.",
               (int)st->seeds, TRAJECTORIES, LAST);
    for (size_t f = st->quick ? SHOWN_F : 1; f <= (st->quick ? SHOWN_F : MAX_F); f++) {
        paper_note(&c, "f = %d:", (int)f);
        for (int l = 0; l < LEARNERS; l++) {
            const int a = worst_attack(st, l, f);
            const double least = st->final[l][f][a];
            char claim[96];
            snprintf(claim, sizeof claim, "%s, f = %d: at least 475 whatever the attack",
                     learners[l].name, (int)f);
            paper_claim(&c, least >= 475, claim, "weakest: %s, %.0f", st->attacks[a].name, least);
        }
    }
    paper_note(&c, "%s, %.0f s.", st->quick ? "Quick version" : "Full version", seconds);
    return paper_claims_close(&c);
}

static int write_csv(const char *path, const study *st) {
    FILE *out = fopen(path, "w");
    if (!out) return -1;
    fprintf(out, "algorithm,f,attack,return\n");
    for (int l = 0; l < LEARNERS; l++)
        for (int f = 0; f <= MAX_F; f++)
            for (int a = 0; a < ATTACKS && (!st->quick || f == 0 || f == SHOWN_F); a++)
                fprintf(out, "%s,%d,%s,%.6g\n", learners[l].name, f, st->attacks[a].name,
                        st->final[l][f][a]);
    const int bad = ferror(out);
    return fclose(out) != 0 || bad ? -1 : 0;
}

static int draw(const char *path, const study *st) {
    static const char *const adversaries[MAX_F + 1] = {"0", "1", "2", "3", "4"};
    const char *rows[LEARNERS], *cols[ATTACKS];
    double by_attack[LEARNERS * ATTACKS], by_f[LEARNERS * (MAX_F + 1)];
    plot p;
    plot_heat h = {LEARNERS, ATTACKS, by_attack, rows, cols, {500, 0, 0}, "return", SM, 0};
    for (int l = 0; l < LEARNERS; l++) {
        rows[l] = learners[l].name;
        for (int a = 0; a < ATTACKS; a++) by_attack[l * ATTACKS + a] = st->final[l][SHOWN_F][a];
        for (size_t f = 0; f <= MAX_F; f++)
            by_f[(size_t)l * (MAX_F + 1) + f] = st->final[l][f][worst_attack(st, l, f)];
    }
    for (int a = 0; a < ATTACKS; a++) cols[a] = st->attacks[a].name;
    if (plot_open(&p, path, 1100, 430, "CartPole: which attack hurts which rule?") != 0) return -1;
    plot_text(&p, 20, 54, PLOT_LEFT, "note",
              "Return at the end of training, 500 is perfect. Left: three of ten agents are "
              "Byzantine. Right: f of ten are, the worst of the eleven attacks");
    plot_heatmap(&p, plot_make_box(80, 110, 690, 262), &h);
    if (!st->quick) {
        h.cols = MAX_F + 1;
        h.value = by_f;
        h.col_label = adversaries;
        plot_heatmap(&p, plot_make_box(870, 110, 210, 262), &h);
    }
    return plot_close(&p);
}

int main(int argc, char **argv) {
    static study st;
    char settings[160];
    st.quick = paper_quick(argc, argv,
                           "usage: attacks [--quick]\n"
                           "Eight algorithms against eleven attacks on CartPole: writes "
                           "build/attacks.svg, .csv and .md.\n"
                           "--quick: f = 3 only, one seed.\n");
    st.seeds = st.quick ? 1 : MAX_SEEDS;
    plan(&st);
    recipe_text(settings, sizeof settings);
    const double seconds =
        trials_run(st.trials, st.count,
                   st.quick ? "build/attacks_quick.part" : "build/attacks.part", settings);
    collect(&st);
    if (write_claims("build/attacks.md", &st, seconds) != 0 ||
        write_csv("build/attacks.csv", &st) != 0 || draw("build/attacks.svg", &st) != 0)
        return fprintf(stderr, "cannot write build/attacks.*\n"), 1;
    printf("\nwrote build/attacks.svg, .csv and .md\n");
    trials_free(st.trials, st.count);
    return 0;
}
