/* examples/progress.h: the diary of a run, and examples/plot.h's numbers of curves, read back. */
#define _POSIX_C_SOURCE 200809L /* mkstemp */
#include "implementation.h"
#include "resnharpg.h"
#include "examples/progress.h"
#include "examples/envs/cartpole.h"
#include "greatest.h"
#include "common.h"
#include <unistd.h>

enum { AGENTS = 4, ROUNDS = 12, OTHERS = 12, COLUMNS = OTHERS + AGENTS, TEXT = 1 << 20 };

static char name[] = "build/test_ex_progress.XXXXXX"; /* .csv and .svg stand beside it */
static progress_log diary;

static char *read_file(const char *ending, char *text) {
    char path[64];
    snprintf(path, sizeof path, "%s%s", name, ending);
    FILE *in = fopen(path, "rb");
    text[in ? fread(text, 1, TEXT - 1, in) : 0] = 0;
    if (in) fclose(in);
    remove(path);
    return text;
}

/* ---- a run with a diary, or without */
typedef struct training {
    rn_trainer *trainer;
    rn_net net;
    cartpole poles[AGENTS + 1];
} training;

static void begin(training *r, int with_diary) {
    rn_env envs[AGENTS];
    rn_net_desc shape = rn_make_net_desc(4, 2);
    shape.hidden[0] = 6;
    for (int i = 0; i < AGENTS; i++) envs[i] = cartpole_env(&r->poles[i]);
    rn_trainer_desc d = rn_make_trainer_desc(AGENTS, 1, envs, rn_make_net_policy(&r->net, &shape));
    d.adversaries = 1;
    d.method.batch = 1;
    if (with_diary && progress_open(&diary, name, &d, &r->net) != 0) exit(1);
    if (rn_trainer_create(&r->trainer, &d) != RN_OK) exit(1);
    if (!with_diary) return;
    diary.server = rn_trainer_server(r->trainer);
    diary.env = cartpole_env(&r->poles[AGENTS]);
}

static size_t occurs(const char *where, const char *what) {
    size_t n = 0;
    for (; (where = strstr(where, what)) != NULL; where++) n++;
    return n;
}

/* columns of a line; a missing number is NaN */
static size_t columns(const char *line, double *v) {
    size_t n = 0;
    for (;; n++) {
        char *end;
        const double x = strtod(line, &end);
        v[n] = end == line ? (double)NAN : x;
        if (*end != ',') return n + 1;
        line = end + 1;
    }
}

/* every column says what progress says, and training does not notice */
TEST columns_are_progress(void) {
    static training with, without;
    static char text[TEXT];
    double said[ROUNDS][COLUMNS], got[2 * COLUMNS];
    begin(&with, 1);
    begin(&without, 0);
    for (int t = 0; t < ROUNDS; t++) {
        ASSERT_EQ(RN_OK, rn_trainer_run_round(with.trainer));
        ASSERT_EQ(RN_OK, rn_trainer_run_round(without.trainer));
        const rn_progress *p = rn_trainer_progress(with.trainer);
        const double v[OTHERS] = {(double)p->round,
                                  (double)p->trajectories,
                                  (double)p->env_steps,
                                  p->mean_return,
                                  p->mean_length,
                                  p->norm,
                                  0,
                                  p->gamma,
                                  p->eta,
                                  0,
                                  0,
                                  (double)p->dropped};
        memcpy(said[t], v, sizeof v);
        memcpy(said[t] + OTHERS, p->suspicion, AGENTS * sizeof(double));
    }
    ASSERT_MEM_EQ(rn_trainer_theta(without.trainer), rn_trainer_theta(with.trainer),
                  with.net.dim * sizeof(rn_real));
    ASSERT_EQ(0, progress_close(&diary, "diary"));
    const char *line = strchr(read_file(".csv", text), '\n');
    ASSERT(strstr(text, "round,trajectories,env_steps,return,length,norm,cosine,gamma,eta,log_std,"
                        "entropy,dropped,s0,s1,s2,s3\n") == text);
    for (int t = 0; t < ROUNDS; t++, line = strchr(line + 1, '\n')) {
        ASSERT_EQ((size_t)COLUMNS, columns(line + 1, got));
        for (int k = 0; k < COLUMNS; k++)
            if (k != 6 && k != 9 && k != 10)
                ASSERT_IN_RANGE(said[t][k], got[k], 1e-5 * fabs(said[t][k]));
        ASSERT(t == 0 ? isnan(got[6]) : fabs(got[6]) <= 1);
        ASSERT(isnan(got[9]));                        /* a softmax has no log_std, ... */
        ASSERT(got[10] > 0.3 && got[10] < 0.6931472); /* ... but an entropy, of log 2 at most */
    }
    ASSERT_STR_EQ("\n", line);
    read_file(".svg", text);
    ASSERT_EQ((size_t)8, occurs(text, "class=\"panel\""));
    ASSERT_EQ((size_t)1, occurs(text, ">agent 3<"));
    rn_trainer_destroy(with.trainer);
    rn_trainer_destroy(without.trainer);
    PASS();
}

/* the cosine, from directions made by hand */
TEST cosine_of_two(void) {
    static training r;
    static char text[TEXT];
    begin(&r, 1);
    ASSERT_EQ(RN_OK, rn_trainer_run_round(r.trainer));
    ASSERT_IN_RANGE(1.0, progress_cosine(&diary, r.net.dim), 1e-12); /* d beside itself */
    for (size_t i = 0; i < r.net.dim; i++) diary.last[i] = -diary.last[i];
    ASSERT_IN_RANGE(-1.0, progress_cosine(&diary, r.net.dim), 1e-12);
    diary.server = NULL;
    ASSERT(isnan(progress_cosine(&diary, r.net.dim)));
    ASSERT_EQ(0, progress_close(&diary, "diary"));
    read_file(".csv", text);
    read_file(".svg", text);
    rn_trainer_destroy(r.trainer);
    PASS();
}

/* Probabilities are those of the policy: grad log pi by the last biases is 1 - p for the action
   taken, -p for the others. */
TEST probabilities_are_the_policys(rn_activation activation) {
    enum { IN = 3, OUT = 4 };
    rn_net net;
    rn_net_desc d = rn_make_net_desc(IN, OUT);
    rn_random random = rn_make_random(5, 0);
    const agg_rng dice = rn_random_rng(&random);
    d.hidden[0] = 5;
    d.hidden[1] = 7;
    d.activation = activation;
    const rn_policy p = rn_make_net_policy(&net, &d);
    rn_real theta[256], g[256], obs[IN], one = 1, act = 2;
    double x[PROGRESS_WIDTH], entropy = 0;
    void *work = need(malloc(rn_policy_work_size(&p, 1)));
    ASSERT(p.dim <= 256);
    for (size_t i = 0; i < p.dim; i++) theta[i] = (rn_real)rn_draw_normal(&dice);
    for (int i = 0; i < IN; i++) x[i] = (double)(obs[i] = (rn_real)rn_draw_normal(&dice));
    memset(g, 0, sizeof g);
    p.grad(p.self, theta, 1, obs, &act, &one, g, work);
    progress_logits(&net, theta, x);
    const double said = progress_softmax(x, OUT);
    for (int k = 0; k < OUT; k++) {
        ASSERT_IN_RANGE((k == 2) - (double)g[p.dim - OUT + (size_t)k], x[k], 1e-5);
        entropy -= x[k] * log(x[k]);
    }
    ASSERT_IN_RANGE(entropy, said, 1e-12);
    free(work);
    PASS();
}

/* what the policy would most likely do, tanh on the logits and no biases */
TEST heads(void) {
    rn_net net;
    rn_net_desc d = rn_make_net_desc(2, 3);
    d.tanh_head = d.no_bias = 1;
    const rn_policy p = rn_make_net_policy(&net, &d);
    const rn_real theta[6] = {1, 2, 0, 0, -1, 3}; /* W[in][out] */
    double x[PROGRESS_WIDTH] = {1, 0.5};
    ASSERT_EQ((size_t)6, p.dim);
    progress_logits(&net, theta, x);
    ASSERT_IN_RANGE(tanh(1.0), x[0], 1e-12);
    ASSERT_IN_RANGE(tanh(1.5), x[1], 1e-12);
    ASSERT_IN_RANGE(tanh(1.5), x[2], 1e-12);
    memset(x, 0, sizeof x);
    ASSERT_IN_RANGE(log(3.0), progress_softmax(x, 3), 1e-12);
    PASS();
}

/* a Gaussian has a log_std and no entropy; a host's own policy has neither */
TEST log_std_of_a_gaussian(void) {
    static progress_log log;
    rn_net net;
    rn_net_desc d = rn_make_net_desc(2, 2);
    const rn_real theta[8] = {0, 0, 0, 0, 0, 0, -1, (rn_real)0.5};
    rn_progress p;
    memset(&p, 0, sizeof p);
    d.gaussian = 1;
    ASSERT_EQ((size_t)8, rn_make_net_policy(&net, &d).dim);
    p.theta = theta;
    p.dim = 8;
    log.net = &net;
    ASSERT_IN_RANGE(-0.25, progress_log_std(&log, &p), 1e-12);
    ASSERT(isnan(progress_entropy(&log, theta)));
    log.net = NULL;
    ASSERT(isnan(progress_log_std(&log, &p)) && isnan(progress_entropy(&log, theta)));
    PASS();
}

TEST no_place_to_write(void) {
    rn_trainer_desc d;
    memset(&d, 0, sizeof d);
    d.agents = 2;
    ASSERT_EQ(-1, progress_open(&diary, "build/no such folder/x", &d, NULL));
    char far[300] = "build/";
    while (strlen(far) < sizeof far - 2) strcat(far, "/");
    ASSERT_EQ(-1, progress_open(&diary, strcat(far, "x"), &d, NULL)); /* and not a part of it */
    ASSERT(d.progress == NULL);
    PASS();
}

TEST no_rounds(void) {
    static training r;
    static char text[TEXT];
    begin(&r, 1);
    ASSERT_EQ(0, progress_close(&diary, "nothing yet"));
    ASSERT_EQ((size_t)1, occurs(read_file(".csv", text), "\n"));
    ASSERT_EQ((size_t)0, occurs(read_file(".svg", text), "class=\"panel\""));
    rn_trainer_destroy(r.trainer);
    PASS();
}

/* ---- plot_keep and plot_letters */
TEST curves_are_kept(void) {
    static char text[TEXT];
    char csv[64], svg[64];
    const double x[3] = {0, 1, 2}, y[3] = {5, 0.25, -1}, hi[3] = {6, 1, 0};
    const plot_curve curve[2] = {{"one", 3, x, y, y, hi, 0, 0},
                                 {"two", 2, x, hi, NULL, NULL, 1, 0}};
    const plot_chart chart = {"a panel", "x", "y", {0, 2, 0}, {-1, 6, 0}, curve, 2};
    plot p;
    snprintf(csv, sizeof csv, "%s.csv", name);
    snprintf(svg, sizeof svg, "%s.svg", name);
    ASSERT_EQ(0, plot_open(&p, svg, 400, 300, "kept"));
    plot_letters(&p);
    ASSERT_EQ(0, plot_keep(&p, csv));
    plot_curves(&p, plot_make_box(50, 50, 300, 200), &chart);
    plot_curves(&p, plot_make_box(50, 50, 300, 200), &chart);
    ASSERT_EQ(0, plot_close(&p));
    read_file(".csv", text);
    ASSERT(strncmp(text,
                   "panel,curve,row,values\n"
                   "\"a panel\",\"one\",x,0,1,2\n\"a panel\",\"one\",y,5,0.25,-1\n"
                   "\"a panel\",\"one\",lo,5,0.25,-1\n\"a panel\",\"one\",hi,6,1,0\n"
                   "\"a panel\",\"two\",x,0,1\n\"a panel\",\"two\",y,6,1\n",
                   170) == 0);
    ASSERT_EQ((size_t)13, occurs(text, "\n"));
    read_file(".svg", text);
    ASSERT(strstr(text, ">(a) a panel<") && strstr(text, ">(b) a panel<"));
    PASS();
}

/* 300 points a pixel apart, which are thinned out, but not that one */
TEST one_bad_round_is_drawn(void) {
    static double x[300], y[300];
    static char text[TEXT];
    const plot_curve curve = {"a", 300, x, y, NULL, NULL, 0, 0};
    const plot_chart chart = {NULL, NULL, NULL, {0, 300, 0}, {-1000, 0, 0}, &curve, 1};
    char path[64];
    plot p;
    for (int i = 0; i < 300; i++) x[i] = i;
    y[150] = -1000;
    snprintf(path, sizeof path, "%s.svg", name);
    ASSERT_EQ(0, plot_open(&p, path, 300, 100, "one bad round"));
    plot_points(&p, plot_make_box(0, 0, 300, 100), &chart, &curve, y, 0);
    ASSERT_EQ(0, plot_close(&p));
    read_file(".svg", text);
    ASSERT_EQ((size_t)1, occurs(text, "L150.0 100.0"));
    ASSERT(occurs(text, "L") < 150);
    PASS();
}

SUITE(progress) {
    RUN_TEST(columns_are_progress);
    RUN_TEST(cosine_of_two);
    RUN_TEST1(probabilities_are_the_policys, RN_TANH);
    RUN_TEST1(probabilities_are_the_policys, RN_RELU);
    RUN_TEST1(probabilities_are_the_policys, RN_IDENTITY);
    RUN_TEST(heads);
    RUN_TEST(log_std_of_a_gaussian);
    RUN_TEST(no_place_to_write);
    RUN_TEST(no_rounds);
    RUN_TEST(curves_are_kept);
    RUN_TEST(one_bad_round_is_drawn);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    const int file = mkstemp(name);
    if (file < 0) exit((fprintf(stderr, "cannot write to build/\n"), 1));
    close(file);
    RUN_SUITE(progress);
    remove(name);
    GREATEST_MAIN_END();
}
