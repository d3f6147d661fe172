/* examples/stick.h: what a film and a still hold, by reading them back. */
#include "implementation.h"
#include "resnharpg.h"
#include "examples/stick.h"
#include "greatest.h"
#include "common.h"

enum { POSES = 40, TEXT = 1 << 20 };

static stick_film film;
static char text[TEXT], again[TEXT];

/* a figure pushed about at random; what ends starts again */
static void record(const stick_task *task) {
    stick_state s;
    const rn_env env = task->env(&s);
    rn_random r = rn_make_random(3, 0);
    const agg_rng chance = rn_random_rng(&r);
    rn_real obs[STICK_NUMBERS], act[STICK_NUMBERS];
    rn_step_result result = RN_TERMINATED;
    double reward;
    stick_begin(&film, task);
    while (film.frames < POSES) {
        const int cut = result != RN_RUNNING;
        if (cut) env.reset(&s, &chance, obs);
        stick_add(&film, &s, cut);
        for (size_t i = 0; i < env.act_dim; i++)
            act[i] = (rn_real)(2 * rn_draw_uniform(&chance) - 1);
        result = env.step(&s, act, &chance, obs, &reward);
    }
}

static void draw(char *to, size_t from, size_t count) {
    plot p = {tmpfile(), NULL, 0, 0};
    size_t n;
    need(p.out);
    stick_draw(&p, plot_make_box(0, 0, 720, 334), &film, from, count);
    rewind(p.out);
    n = fread(to, 1, TEXT - 1, p.out);
    to[n] = 0;
    fclose(p.out);
}

static size_t occurs(const char *where, const char *what) {
    size_t n = 0;
    for (; (where = strstr(where, what)) != NULL; where++) n++;
    return n;
}

/* every element that opens closes, the innermost first */
static int closed(const char *s) {
    const char *open[16];
    size_t depth = 0;
    for (; (s = strchr(s, '<')) != NULL; s++) {
        const char *end = strchr(s, '>');
        const size_t length = strcspn(s + 1, " />");
        if (!end) return 0;
        if (s[1] == '/') {
            if (depth == 0 || strncmp(open[--depth], s + 2, strcspn(s + 2, ">")) != 0) return 0;
        } else if (end[-1] != '/' && length > 0) {
            if (depth == 16) return 0;
            open[depth++] = s + 1;
        }
    }
    return depth == 0;
}

/* Read every pose of every capsule back: its ends are those of planar_segments(), to a tenth of a
   pixel. */
TEST poses(const stick_task *task) {
    const double scale = 334 / task->height, ground = 0.84 * 334;
    const char *at = text;
    record(task);
    draw(text, 0, POSES);
    for (int i = task->model->capsules; i-- > 0;) {
        at = strstr(at, "attributeName=\"d\"");
        ASSERT(at != NULL);
        at = strstr(at, "values=\"") + 7;
        for (size_t t = 0; t < POSES; t++) {
            planar_segment s[PLANAR_CAPSULES];
            double x[4];
            int used = 0;
            const double left = 360 - scale * film.camera[t];
            planar_segments(task->model, film.q[t], s);
            ASSERT_EQ(t ? ';' : '"', *at++);
            ASSERT_EQ(4, sscanf(at, "M%lf %lf %lf %lf%n", &x[0], &x[1], &x[2], &x[3], &used));
            ASSERT(fabs(x[0] - left - scale * s[i].ax) < 0.0501 &&
                   fabs(ground - x[1] - scale * s[i].az) < 0.0501);
            ASSERT(fabs(x[2] - left - scale * s[i].bx) < 0.0501 &&
                   fabs(ground - x[3] - scale * s[i].bz) < 0.0501);
            at += used;
        }
        ASSERT_EQ('"', *at);
    }
    ASSERT_EQ((size_t)task->model->capsules, occurs(text, "attributeName=\"d\""));
    ASSERT_EQ((size_t)task->follow, occurs(text, "<animateTransform"));
    ASSERT(closed(text) && !strstr(text, "nan") && !strstr(text, "inf"));
    PASS();
}

/* are taken from where each task keeps them */
TEST positions(void) {
    stick_state s;
    memset(&s, 0, sizeof s);
    s.cart.x = 1, s.cart.v = 2, s.cart.angle = 3, s.cart.spin = 4;
    stick_begin(&film, stick_find("CartPole"));
    stick_add(&film, &s, 1);
    ASSERT(film.q[0][0] == 1 && film.q[0][1] == 3);
    s.body.q[0] = 1, s.body.q[1] = 2, s.body.v[0] = 3, s.body.v[1] = 4;
    stick_begin(&film, stick_find("InvertedPendulum"));
    stick_add(&film, &s, 1);
    ASSERT(film.q[0][0] == 1 && film.q[0][1] == 2);
    for (int i = 0; i < 9; i++) s.body.q[i] = i + 5;
    stick_begin(&film, stick_find("Walker2d"));
    stick_add(&film, &s, 1);
    for (int i = 0; i < 9; i++) ASSERT(film.q[0][i] == i + 5);
    PASS();
}

TEST same_bytes(void) {
    record(&stick_tasks[1]);
    draw(text, 0, POSES);
    record(&stick_tasks[1]);
    draw(again, 0, POSES);
    ASSERT_EQ(0, strcmp(text, again));
    PASS();
}

/* stands where the film is at that moment, and nothing moves */
TEST still(void) {
    record(&stick_tasks[0]);
    draw(text, 7, 1);
    ASSERT(closed(text) && !strstr(text, "<animate"));
    draw(again, 7, 2);
    ASSERT(strstr(again, "<animate") != NULL);
    ASSERT_EQ(0,
              strncmp(strstr(text, "<path class=\"c3\""), strstr(again, "<path class=\"c3\""), 60));
    PASS();
}

/* what does not fit is left out */
TEST a_full_film(void) {
    stick_state s;
    rn_random r = rn_make_random(3, 0);
    agg_rng chance = rn_random_rng(&r);
    rn_real obs[STICK_NUMBERS];
    rn_env env = stick_tasks[0].env(&s);
    env.reset(&s, &chance, obs);
    stick_begin(&film, &stick_tasks[0]);
    for (int i = 0; i < STICK_FRAMES; i++) stick_add(&film, &s, 0);
    s.body.q[1] = 77;
    stick_add(&film, &s, 0);
    ASSERT_EQ((size_t)STICK_FRAMES, film.frames);
    ASSERT(film.q[0][1] < 2 && film.q[STICK_FRAMES - 1][1] < 2);
    PASS();
}

TEST names(void) {
    for (int i = 0; i < STICK_TASKS; i++) {
        const stick_task *k = &stick_tasks[i];
        stick_state s;
        ASSERT(stick_find(k->name) == k);
        ASSERT_EQ((size_t)k->model->capsules, strlen(k->colours));
        ASSERT(k->env(&s).obs_dim <= STICK_NUMBERS && k->env(&s).act_dim <= STICK_NUMBERS);
        ASSERT(stick_step(k) * stick_every(k) > 0.039 && stick_step(k) * stick_every(k) < 0.051);
    }
    ASSERT(stick_find("hALFcHEETAH") == &stick_tasks[2]);
    ASSERT(!stick_find("") && !stick_find("Hop") && !stick_find("Hopper2") &&
           !stick_find("(opper"));
    PASS();
}

SUITE(stick) {
    for (int i = 0; i < STICK_TASKS; i++) RUN_TEST1(poses, &stick_tasks[i]);
    RUN_TEST(positions);
    RUN_TEST(same_bytes);
    RUN_TEST(still);
    RUN_TEST(a_full_film);
    RUN_TEST(names);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(stick);
    GREATEST_MAIN_END();
}
