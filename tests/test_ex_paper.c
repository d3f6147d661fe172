/* What the figures of the paper rest on: results that survive an interruption, training runs that
   repeat, slopes, confidence and ticks (examples/paper/paper.h, trials.h, examples/plot.h). */
#define _POSIX_C_SOURCE 200809L
#include "implementation.h"
#include "resnharpg.h"
#include "examples/paper/tasks.h"
#include "greatest.h"

static char path[] = "build/test_ex_paper.XXXXXX";

/* the whole file is this */
static int file_has(const char *text) {
    char *all = paper_read(path);
    const int same = all && strcmp(all, text) == 0;
    free(all);
    return same;
}

static void file_write(const char *text) {
    FILE *out = fopen(path, "w");
    if (out) fputs(text, out), fclose(out);
}

/* ---- the store */
TEST found_again(void) {
    const double v[3] = {0.1, -1e300, 3};
    double w[3] = {0, 0, 0};
    paper_store s;
    remove(path);
    ASSERT_EQ(0, paper_store_open(&s, path, "settings"));
    ASSERT_FALSE(paper_store_find(&s, "a", w, 3));
    paper_store_add(&s, "a", v, 3);
    paper_store_add(&s, "ab", v + 1, 2);
    paper_store_close(&s, 0);
    ASSERT_EQ(0, paper_store_open(&s, path, "settings"));
    ASSERT(paper_store_find(&s, "a", w, 3));
    for (int i = 0; i < 3; i++) ASSERT_IN_RANGE(v[i], w[i], 0.0); /* not a bit is lost */
    ASSERT_FALSE(paper_store_find(&s, "a", w, 2));                /* of another length */
    ASSERT_FALSE(paper_store_find(&s, "b", w, 2));                /* a key is a whole key */
    ASSERT(paper_store_find(&s, "ab", w, 2));
    paper_store_close(&s, 1);
    ASSERT_EQ(NULL, fopen(path, "r")); /* done: nothing is left */
    PASS();
}

TEST a_line_cut_short_does_not_count(void) {
    double w[2];
    paper_store s;
    file_write("settings\na,1,2\nb,3,4");
    ASSERT_EQ(0, paper_store_open(&s, path, "settings"));
    ASSERT(paper_store_find(&s, "a", w, 2));
    ASSERT_FALSE(paper_store_find(&s, "b", w, 2));
    paper_store_close(&s, 0);
    ASSERT(file_has("settings\na,1,2\n"));
    PASS();
}

TEST other_settings_start_afresh(void) {
    double w[1];
    paper_store s;
    file_write("settings 1\na,1\n");
    ASSERT_EQ(0, paper_store_open(&s, path, "settings"));
    ASSERT_FALSE(paper_store_find(&s, "a", w, 1));
    paper_store_close(&s, 0);
    ASSERT(file_has("settings\n"));
    PASS();
}

/* ---- training runs */
enum { SHORT = 60 };

static trial short_trial(const task *k, const learner *l, const attack *a) {
    trial t = trial_make(k, l, a, 3);
    t.trajectories = SHORT;
    return t;
}

static int same_trial(const trial *a, const trial *b) {
    return a->points == b->points &&
           memcmp(a->score, b->score, TRIAL_KINDS * a->points * sizeof *a->score) == 0;
}

TEST trials_repeat_and_resume(void) {
    const attack flip = attack_of_vector(AGG_ATTACK_SIGN_FLIP),
                 act = attack_of_kind(RN_ATTACK_RANDOM_ACTION, "random action");
    trial t[4], again[4];
    paper_store s;
    char key[160];
    for (int k = 0; k < 4; k++)
        t[k] = again[k] = short_trial(&tasks[k == 3][k == 2], &learners[k == 1 ? PG_SM : k],
                                      k == 2 ? &act : &flip);
    remove(path);
    (void)trials_run(t, 4, path, "x");
    for (int k = 0; k < 4; k++) {
        ASSERT_EQ(SHORT / TRIAL_EVERY + 1, (int)t[k].points);
        ASSERT_EQ(0, t[k].found);
        ASSERT(t[k].steps[3] > t[k].steps[1] && t[k].score[3] > 0);
        ASSERT(t[k].least[3] <= t[k].cosine[3] && t[k].cosine[3] <= 1 && t[k].least[3] >= -1);
        ASSERT(t[k].cosine[3] < 0 || t[k].cosine[3] > 0);
        for (size_t p = 0; p < t[k].points; p++) ASSERT_EQ((int)p * TRIAL_EVERY, (int)t[k].x[p]);
    }
    ASSERT_EQ(0, paper_store_open(&s, path, "x")); /* interrupted when half was done */
    for (int k = 0; k < 2; k++)
        trial_key(&t[k], key), paper_store_add(&s, key, t[k].score, TRIAL_KINDS * t[k].points);
    paper_store_close(&s, 0);
    (void)trials_run(again, 4, path, "x");
    for (int k = 0; k < 4; k++) {
        ASSERT_EQ(k < 2, again[k].found);
        ASSERT(same_trial(&t[k], &again[k]));
    }
    trials_free(t, 4);
    trials_free(again, 4);
    PASS();
}

/* a host's rule that is one of ours: the same run, to the last bit */
static agg_status middle(void *self, const rn_real *const *rows, size_t n, size_t dim,
                         rn_real *out) {
    const agg_desc d = agg_make_desc(AGG_CWMED, n, dim, 3);
    const size_t size = agg_scratch_size(&d);
    void *scratch = malloc(size);
    const agg_status s = scratch ? agg_aggregate(&d, rows, out, scratch, size, NULL) : AGG_ERR_ARG;
    ++*(int *)self;
    free(scratch);
    return s;
}

TEST a_rule_of_the_host(void) {
    const attack flip = attack_of_vector(AGG_ATTACK_SIGN_FLIP);
    const learner ours = {"CWMed", AGG_CWMED, 0, 0}, theirs = {"middle", AGG_MEAN, 0, 0};
    trial t[2] = {trial_make(&tasks[0][0], &ours, &flip, 5),
                  trial_make(&tasks[0][0], &theirs, &flip, 5)};
    int calls = 0;
    memset(t[0].recipe.pre, 0, sizeof t[0].recipe.pre);
    t[1].recipe = t[0].recipe;
    t[1].aggregate = middle;
    t[1].aggregate_self = &calls;
    t[0].trajectories = t[1].trajectories = SHORT;
    (void)trials_run(t, 2, path, "x");
    ASSERT_MEM_EQ(t[0].score, t[1].score, t[0].points * sizeof(double));
    ASSERT(calls > 0);
    trials_free(t, 2);
    PASS();
}

/* as many trajectories a round, and nothing else differs */
TEST vanilla_is_matched(void) {
    for (int k = 0; k < TASKS; k++) {
        const attack none = attack_of_kind(RN_ATTACK_NONE, "none");
        const trial a = trial_make(&tasks[0][k], &learners[SM], &none, 1),
                    b = trial_make(&tasks[0][k], &learners[PG_SM], &none, 1);
        recipe r = b.recipe;
        ASSERT_EQ((int)trial_per_round(&a), (int)trial_per_round(&b));
        ASSERT_EQ((int)trial_every(&a), (int)trial_every(&b));
        r.method.no_hessian = 0, r.method.reuse = a.recipe.method.reuse;
        r.method.batch = a.recipe.method.batch, r.eta = a.recipe.eta;
        ASSERT_MEM_EQ(&a.recipe, &r, sizeof r);
    }
    PASS();
}

/* ---- options and numbers */
TEST options(void) {
    char name[] = "program", quick[] = "--quick", authors[] = "--authors";
    char *argv[] = {name, authors, quick};
    ASSERT_EQ(0u, paper_options(1, argv, "--quick --authors ", ""));
    ASSERT_EQ(2u, paper_options(2, argv, "--quick --authors ", ""));
    ASSERT_EQ(3u, paper_options(3, argv, "--quick --authors ", ""));
    PASS();
}

TEST slopes(void) {
    const double x[3] = {1, 10, 100}, y[3] = {5, 50, 500};
    double runs[3][3];
    for (int r = 0; r < 3; r++)
        for (int i = 0; i < 3; i++) runs[r][i] = y[i] * (1 + 0.1 * r);
    ASSERT_IN_RANGE(1.0, paper_line(x, y, 3).value, 1e-14);
    ASSERT_IN_RANGE(5.0, paper_line(x, y, 3).scale, 1e-13);
    /* runs that differ by a factor have the same slope */
    const paper_slope s = paper_fit(x, runs[0], 3, 3, 3);
    ASSERT(fabs(s.value - 1) < 1e-13 && fabs(s.hi - 1) < 1e-11 && fabs(s.lo - 1) < 1e-11);
    PASS();
}

/* 1, 2, 3, 4: mean 2.5, deviation sqrt(5/3), t(3) = 3.182 */
TEST confidence(void) {
    const double v[4] = {1, 2, 3, 4}, half = 3.182 * sqrt(5.0 / 3) / 2;
    double y, lo, hi;
    plot_confidence(v, 4, 1, &y, &lo, &hi);
    ASSERT_IN_RANGE(2.5, y, 1e-15);
    ASSERT_IN_RANGE(2.5 - half, lo, 1e-14);
    ASSERT_IN_RANGE(2.5 + half, hi, 1e-14);
    PASS();
}

TEST ticks(void) {
    const plot_scale up = {0, 500, 0}, down = {500, 0, 0}, log = {1, 1000, 1};
    double a[16], b[16];
    ASSERT_EQ(6, (int)plot_ticks(&up, 6, a));
    ASSERT_EQ(6, (int)plot_ticks(&down, 6, b));
    for (int i = 0; i < 6; i++) ASSERT(fabs(a[i] - 100 * i) < 1e-12 && fabs(a[i] - b[i]) < 1e-12);
    ASSERT_IN_RANGE(0.2, plot_at(&down, 400), 1e-15);
    ASSERT_EQ(4, (int)plot_ticks(&log, 5, a));
    ASSERT_IN_RANGE(100.0, a[2], 1e-12);
    PASS();
}

/* ---- runs that end badly */
enum { EXAMS = 7 };

static trial scored(double *x, double *score) {
    static double steps[EXAMS];
    trial t;
    memset(&t, 0, sizeof t);
    t.points = EXAMS;
    t.x = x;
    t.score = score;
    t.steps = steps;
    return t;
}

TEST bad_ends_are_counted(void) {
    double x[EXAMS] = {0, 20, 40, 60, 80, 100, 120};
    double well[EXAMS] = {9, 480, 9, 475, 475, 500, 500}, fell[EXAMS] = {9, 480, 500, 500, 1},
           never[EXAMS] = {9, 9, 474, 474, 474, 474, 474};
    const trial t[3] = {scored(x, well), scored(x, fell), scored(x, never)};
    outcome o = outcome_of(&t[0], 475);
    tally y;
    ASSERT_IN_RANGE(20, o.first, 0.0);
    ASSERT_IN_RANGE(60, o.since, 0.0);
    ASSERT_IN_RANGE(9, o.end, 0.0); /* the third exam is one of the last */
    well[2] = 475;
    o = outcome_of(&t[0], 475);
    ASSERT_IN_RANGE(20, o.since, 0.0);
    y = tally_of(t, 1, 475);
    ASSERT_EQ((size_t)0, y.failed);
    ASSERT_IN_RANGE(475, y.worst, 0.0);
    ASSERT_IN_RANGE(20, y.first, 0.0);
    y = tally_of(t, 3, 475);
    ASSERT_EQ((size_t)3, y.runs);
    ASSERT_EQ((size_t)2, y.failed);
    ASSERT_EQ((size_t)1, y.fell);
    ASSERT(y.first >= 1e9 && y.since >= 1e9);
    PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    const int file = mkstemp(path);
    if (file < 0) return fprintf(stderr, "cannot write to build/\n"), 1;
    close(file);
    GREATEST_MAIN_BEGIN();
    RUN_TEST(found_again);
    RUN_TEST(a_line_cut_short_does_not_count);
    RUN_TEST(other_settings_start_afresh);
    RUN_TEST(trials_repeat_and_resume);
    RUN_TEST(bad_ends_are_counted);
    RUN_TEST(a_rule_of_the_host);
    RUN_TEST(vanilla_is_matched);
    RUN_TEST(options);
    RUN_TEST(slopes);
    RUN_TEST(confidence);
    RUN_TEST(ticks);
    remove(path);
    GREATEST_MAIN_END();
}
