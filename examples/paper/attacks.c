/* attacks: what the paper does not try. Every rule of aggregators.h, alone, behind NNM and behind
   median clipping, against every attack, "worst" among them, on CartPole and InvertedPendulum; f =
   0 to 4 of 10 agents are adversaries, and the server knows f. Then the defence: what
   rn_make_trainer_desc() gives, beside others, with many seeds. Three parts, so that it ends:
       map    all rules, three ways, all attacks, f = 3                a quarter of the batch, one seed
       rise   all rules, four ways, worst, f = 0 .. 4                  a quarter of the batch, one seed
       rows   eight defences, worst, f = 3 and 4, and nobody           20 or 10 seeds of the default,
                                                                       10 or 5 of the others
              half the trajectories, worst, f = 1 .. 4, and nobody     10 seeds
              the default under all attacks, f = 3 and 4               one seed
   Shown: the return of the last policy, and the cosine of each round's aggregate to the honest
   mean. The lists are in adversaries.h. */
#define _POSIX_C_SOURCE 200809L
#define RESNHARPG_IMPLEMENTATION
#include "attack_figures.h"

static size_t last_f(const plan *p) { return p->quick ? SHOWN_F : MAX_F; }

static void plan_defence(study *st, const plan *p, int k, size_t i) {
    const size_t seeds = i ? p->others[k] : p->seeds[k];
    for (size_t f = i || p->quick ? SHOWN_F : 1; f <= last_f(p); f++)
        study_add(st, spot_of(k, &defences[i], AGG_ATTACK_WORST, f), seeds);
    study_add(st, spot_of(k, &defences[i], NOBODY, SHOWN_F), (seeds + 3) / 4);
}

static void plan_default(study *st, const plan *p, int k) {
    for (size_t f = SHOWN_F; f <= MAX_F && !p->quick; f++)
        for (int a = 0; a < NOBODY; a++) study_add(st, spot_of(k, &defences[0], a, f), 1);
}

static void plan_rise(study *st, const plan *p, int k) {
    static const size_t order[MAX_F + 1] = {3, 0, 4, 1, 2};
    for (size_t i = 0; i < p->values_f; i++)
        for (size_t r = 0; r < p->rising; r++)
            for (int w = 0; w < WAYS; w++) study_add(st, spot_rise(k, w, p->rule[r], order[i]), 1);
}

static void plan_map(study *st, const plan *p, int k) {
    for (int w = p->first_way; w <= p->last_way; w++)
        for (size_t r = 0; r < p->rules; r++)
            for (size_t a = 0; a < p->attacks; a++)
                study_add(st, spot_quarter(k, w, p->rule[r], p->attack[a], SHOWN_F), 1);
}

static void plan_cheap(study *st, const plan *p, int k) {
    for (size_t f = p->quick ? SHOWN_F : 1; f <= last_f(p); f++)
        study_add(st, spot_of(k, &cheap, AGG_ATTACK_WORST, f), p->cheap);
    study_add(st, spot_of(k, &cheap, NOBODY, SHOWN_F), p->cheap);
}

/* what matters most comes first: a run may be interrupted */
static void plan_all(study *st, const plan *p) {
    for (int k = 0; k < TASKS && !p->only_cheap; k++) plan_defence(st, p, k, 0);
    for (int k = 0; k < TASKS; k++) plan_cheap(st, p, k);
    if (p->only_cheap) return;
    for (int k = 0; k < TASKS; k++)
        for (size_t i = 1; i < p->defences; i++) plan_defence(st, p, k, i);
    for (int k = 0; k < (int)p->tasks; k++) plan_rise(st, p, k);
    for (int k = 0; k < (int)p->tasks; k++) plan_map(st, p, k);
    for (int k = 0; k < TASKS; k++) plan_default(st, p, k);
}

/* ---- what is said */
static void claim_default(paper_claims *c, const study *st, const plan *p) {
    for (int k = 0; k < TASKS; k++)
        for (size_t f = SHOWN_F; f <= last_f(p); f++) {
            const double best = attacked[k].best;
            const result r = study_result(st, spot_of(k, &defences[0], AGG_ATTACK_WORST, f));
            char claim[160];
            snprintf(claim, sizeof claim,
                     "the default, %s, f = %d, worst: mean %.0f or more, no run below %.0f",
                     attacked[k].name, (int)f, 0.95 * best, 0.8 * best);
            paper_claim(c, r.mean >= 0.95 * best && r.failed == 0, claim,
                        "mean %.0f, least %.0f, %d of %d below %.0f", r.mean, r.low, (int)r.failed,
                        (int)r.runs, 0.8 * best);
        }
}

static void write_rows(paper_claims *c, const study *st, const plan *p, int k, size_t f) {
    paper_note(c,
               "%s, f = %d, worst (%.0f is the best return): runs below 80 and 95 %% of it, and "
               "the cosine of the aggregate to the honest mean.",
               attacked[k].name, (int)f, attacked[k].best);
    paper_row_name(c, 34, "defence");
    paper_cell(c, 10, "mean");
    paper_cell(c, 10, "least");
    paper_cell(c, 12, "< 80 %%");
    paper_cell(c, 12, "< 95 %%");
    paper_cell(c, 10, "cosine");
    paper_cell(c, 16, "nobody: mean");
    paper_cell(c, 14, "trajectories");
    paper_cell(c, 10, "Msteps");
    paper_row_end(c, 9);
    for (size_t i = 0; i < p->defences; i++) {
        const result r = study_result(st, spot_of(k, &defences[i], AGG_ATTACK_WORST, f));
        const result none = study_result(st, spot_of(k, &defences[i], NOBODY, SHOWN_F));
        paper_row_name(c, 34, defences[i].name);
        paper_cell(c, 10, "%.0f", r.mean);
        paper_cell(c, 10, "%.0f", r.low);
        paper_cell(c, 12, "%d of %d", (int)r.failed, (int)r.runs);
        paper_cell(c, 12, "%d of %d", (int)r.weak, (int)r.runs);
        paper_cell(c, 10, "%.2f", r.cosine);
        paper_cell(c, 16, "%.0f", none.mean);
        paper_cell(c, 14, "%.0f", none.x[POINTS]);
        paper_cell(c, 10, "%.2f", none.steps / 1e6);
        paper_row_end(c, 0);
    }
}

/* f adversaries; nobody: f = 0 */
static void write_cheap_row(paper_claims *c, const study *st, int k, size_t f) {
    const int a = f ? AGG_ATTACK_WORST : NOBODY;
    const result r = study_result(st, spot_of(k, &cheap, a, f ? f : SHOWN_F));
    char name[32];
    if (!r.runs) return;
    if (f)
        snprintf(name, sizeof name, "%s, f = %d", attacked[k].name, (int)f);
    else
        snprintf(name, sizeof name, "%s, nobody", attacked[k].name);
    paper_row_name(c, 34, name);
    paper_cell(c, 10, "%.0f", r.mean);
    paper_cell(c, 10, "%.0f", r.low);
    paper_cell(c, 12, "%d of %d", (int)r.failed, (int)r.runs);
    paper_cell(c, 12, "%d of %d", (int)r.weak, (int)r.runs);
    paper_cell(c, 10, "%.2f", r.cosine);
    paper_cell(c, 14, "%.0f", r.x[POINTS]);
    paper_row_end(c, 0);
}

static void write_cheap(paper_claims *c, const study *st) {
    paper_note(c,
               "%s: half the default's trajectories. Runs that end below "
               "80 and 95 %% of the best return under worst, and the cosine to the honest mean.",
               cheap.name);
    paper_row_name(c, 34, "task");
    paper_cell(c, 10, "mean");
    paper_cell(c, 10, "least");
    paper_cell(c, 12, "< 80 %%");
    paper_cell(c, 12, "< 95 %%");
    paper_cell(c, 10, "cosine");
    paper_cell(c, 14, "trajectories");
    paper_row_end(c, 7);
    for (int k = 0; k < TASKS; k++)
        for (size_t f = 0; f <= MAX_F; f++) write_cheap_row(c, st, k, f);
}

/* the attack of the map that leaves least */
static int hardest(const study *st, const plan *p, int k, int w, int rule) {
    double least = 1e300;
    int at = p->attack[0];
    for (size_t a = 0; a < p->attacks; a++) {
        const double v = study_result(st, spot_quarter(k, w, rule, p->attack[a], SHOWN_F)).mean;
        if (v < least) least = v, at = p->attack[a];
    }
    return at;
}

static void write_hardest(paper_claims *c, const study *st, const plan *p, int k) {
    paper_note(c, "%s, f = 3, a quarter of the batch, one seed: the least return and its attack.",
               attacked[k].name);
    paper_row_name(c, 14, "rule");
    for (int w = 0; w <= WAY_CLIP; w++) paper_cell(c, 30, "%s", ways[w].name);
    paper_row_end(c, 1 + WAY_CLIP + 1);
    for (size_t r = 0; r < p->rules; r++) {
        if (!spot_possible(spot_quarter(k, 0, p->rule[r], 0, SHOWN_F))) continue;
        paper_row_name(c, 14, st->lists.rule[p->rule[r]].name);
        for (int w = 0; w <= WAY_CLIP; w++) {
            const int a = hardest(st, p, k, w, p->rule[r]);
            const result v = study_result(st, spot_quarter(k, w, p->rule[r], a, SHOWN_F));
            if (v.runs)
                paper_cell(c, 30, "%.0f %s", v.mean, st->lists.attack[a].name);
            else
                paper_cell(c, 30, "-");
        }
        paper_row_end(c, 0);
    }
}

static int write_claims(const char *path, const study *st, const plan *p, double seconds) {
    paper_claims c;
    if (paper_claims_open(&c, path, "Adversaries that optimise") != 0) return -1;
    paper_note(&c, "%d agents, f of them are Byzantine, the server knows f.", AGENTS);
    if (!p->only_cheap) claim_default(&c, st, p);
    for (int k = 0; k < TASKS && !p->only_cheap; k++)
        for (size_t f = SHOWN_F; f <= last_f(p); f++) write_rows(&c, st, p, k, f);
    write_cheap(&c, st);
    for (int k = 0; k < (int)p->tasks && !p->only_cheap; k++) write_hardest(&c, st, p, k);
    paper_note(&c, "%s, %d runs, %.0f s.", p->quick ? "Quick version" : "Full version",
               (int)st->count, seconds);
    return paper_claims_close(&c);
}

/* a line for each place: its runs' returns stand in the last field */
static int write_csv(const char *path, const study *st) {
    FILE *out = fopen(path, "w");
    if (!out) return -1;
    fprintf(out, "task,training,before,rule,attack,f,runs,mean,least,below 80 %%,below 95 %%,"
                 "cosine,least cosine,returns by seed\n");
    for (size_t i = 0; i < st->count; i++) {
        const spot *s = &st->at[i];
        const result r = study_result(st, *s);
        if (st->trials[i].seed != FIRST_SEED) continue;
        fprintf(out, "%s,%s,%s,%s,%s,%d,%d,%.6g,%.6g,%d,%d,%.3f,%.3f,", attacked[s->task].name,
                trainings[s->train].name, ways[s->way].name, st->lists.rule[s->rule].name,
                st->lists.attack[s->attack].name, (int)s->f, (int)r.runs, r.mean, r.low,
                (int)r.failed, (int)r.weak, r.cosine, r.least);
        for (size_t j = 0; j < st->count; j++)
            if (same_spot(&st->at[j], s))
                fprintf(out, "%s%.6g", j == i ? "" : " ",
                        st->trials[j].score[st->trials[j].points - 1]);
        fprintf(out, "\n");
    }
    const int bad = ferror(out);
    return fclose(out) != 0 || bad ? -1 : 0;
}

/* --stored: what an interrupted run has done, drawn; it can go on afterwards */
static double run_stored(study *st, const char *path, const char *settings) {
    char *text = paper_read(path);
    double seconds;
    FILE *out;
    if (!text) exit((fprintf(stderr, "there is no %s: nothing is stored\n", path), 1));
    study_keep_stored(st, text);
    seconds = trials_run(st->trials, st->count, path, settings);
    out = fopen(path, "w");
    if (!out || fputs(text, out) < 0 || fclose(out) != 0) exit(1);
    free(text);
    return seconds;
}

/* the return of a trial in the text of a CSV that write_csv() wrote; NAN: it is not there */
static double csv_return(const char *text, const study *st, size_t i) {
    const spot *s = &st->at[i];
    char start[200];
    const char *at;
    snprintf(start, sizeof start, "\n%s,%s,%s,%s,%s,%d,", attacked[s->task].name,
             trainings[s->train].name, ways[s->way].name, st->lists.rule[s->rule].name,
             st->lists.attack[s->attack].name, (int)s->f);
    at = strstr(text, start);
    if (!at) return (double)NAN;
    for (int field = 0; at && field < 13; field++) at = strchr(at + 1, ',');
    for (uint64_t seed = FIRST_SEED; at && seed < st->trials[i].seed; seed++)
        at = strpbrk(at + 1, " \n");
    return at && *at != '\n' ? strtod(at + 1, NULL) : (double)NAN;
}

/* --map: the committed numbers, drawn; each trial has its last point alone */
static int draw_map_of_csv(study *st, const plan *p, const char *csv, const char *svg) {
    char *text = paper_read(csv);
    size_t kept = 0;
    int bad;
    if (!text) return fprintf(stderr, "cannot read %s\n", csv), 1;
    for (size_t i = 0; i < st->count; i++) {
        trial *t = &st->trials[kept];
        const double end = csv_return(text, st, i);
        if (end != end) continue;
        *t = st->trials[i];
        st->at[kept++] = st->at[i];
        t->points = 1;
        t->x = (double *)calloc(3, sizeof *t->x);
        if (!t->x) exit(1);
        t->score = t->x + 1;
        t->steps = t->x + 2;
        t->score[0] = end;
    }
    st->count = kept;
    bad = draw_map(svg, st, p) != 0;
    printf(bad ? "cannot write %s\n" : "drew %s from %s, which has %d of the runs\n", svg, csv,
           (int)kept);
    trials_free(st->trials, kept);
    free(text);
    return bad;
}

static int draw_all(char path[6][64], const study *st, const plan *p) {
    if (p->only_cheap) return 0;
    return draw_rise(path[3], st, p) || draw_map(path[4], st, p) || draw_cosine(path[5], st, p);
}

int main(int argc, char **argv) {
    static study st;
    const unsigned given =
        paper_options(argc, argv, "--quick --stored --map --cheap ",
                      "usage: attacks [--quick] [--stored] [--map] [--cheap]\n"
                      "Every rule against every attack: writes build/attacks.svg, _map.svg, "
                      "_cosine.svg, .csv and .md.\n"
                      "--quick: few of each, one seed; build/attacks_quick.*\n"
                      "--stored: runs nothing, shows what an interrupted run has done\n"
                      "--map: runs nothing, draws examples/attacks_map.svg from "
                      "examples/paper/attacks.csv\n"
                      "--cheap: only the defence with half the trajectories; "
                      "build/attacks_cheap.csv and .md\n");
    const int quick = given & 1, stored = (given & 2) != 0, only = (given & 8) != 0;
    plan p = quick ? make_plan_quick() : make_plan();
    const char *const base = only    ? "build/attacks_cheap"
                             : quick ? "build/attacks_quick"
                                     : "build/attacks";
    static const char *const end[6] = {".part", ".md", ".csv", ".svg", "_map.svg", "_cosine.svg"};
    static const char *const settings = "attacks, 16-16, version 0.5";
    char path[6][64];
    double seconds;
    p.only_cheap = only && !(given & 4);
    for (int i = 0; i < 6; i++) snprintf(path[i], sizeof path[i], "%s%s", base, end[i]);
    adversaries_list(&st.lists);
    plan_all(&st, &p);
    if (given & 4)
        return draw_map_of_csv(&st, &p, "examples/paper/attacks.csv", "examples/attacks_map.svg");
    seconds = stored ? run_stored(&st, path[0], settings)
                     : trials_run(st.trials, st.count, path[0], settings);
    if (write_claims(path[1], &st, &p, seconds) != 0 || write_csv(path[2], &st) != 0 ||
        draw_all(path, &st, &p) != 0)
        return fprintf(stderr, "cannot write %s.*\n", base), 1;
    printf("\nwrote %s%s.csv and .md\n", base, only ? "" : ".svg, _map.svg, _cosine.svg, ");
    trials_free(st.trials, st.count);
    return 0;
}
