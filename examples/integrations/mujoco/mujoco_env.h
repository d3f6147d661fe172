/* mujoco_env.h - the five tasks of examples/envs/planar.h on the real MuJoCo, as environments of
   resnharpg.h
   SPDX-License-Identifier: MIT OR Unlicense

       static mujoco_hopper h;
       char why[256];
       rn_env env;
       if (!mujoco_hopper_env(&h, &env, why, sizeof why)) puts(why); // ... train with env ...
       mujoco_close(&h.engine);

   MuJoCo loads the model that the task prints of itself; observation, reward, end and start are the
   task's own code. So only the simulation is another, and it is the same to rounding: see
   compare.c. For a model of your own, write the four lines of a task's judge and observe, and load
   your file where mujoco_open() loads the printed one.
   Debian: libmujoco-dev; link with -lmujoco. Needs open_memstream() of POSIX 2008. MuJoCo keeps
   more between steps than positions and speeds (where its solver starts from), so that these
   environments cannot be saved inside a trajectory. */
#ifndef MUJOCO_ENV_H
#define MUJOCO_ENV_H
#include "../../envs/half_cheetah.h"
#include "../../envs/hopper.h"
#include "../../envs/inverted_double_pendulum.h"
#include "../../envs/inverted_pendulum.h"
#include "../../envs/walker2d.h"
#include <mujoco/mujoco.h>
#include <stdlib.h>

typedef struct mujoco {
    mjModel *model;
    mjData *data;
    int frame_skip;
} mujoco;

static void mujoco_close(mujoco *e) {
    if (e->data) mj_deleteData(e->data);
    if (e->model) mj_deleteModel(e->model);
    memset(e, 0, sizeof *e);
}

/* 0: the reason is in `why` */
static int mujoco_open(mujoco *e, const planar_model *m, int v2, char *why, int size) {
    mjVFS *files = (mjVFS *)malloc(sizeof *files); /* MuJoCo's files in memory */
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    memset(e, 0, sizeof *e);
    snprintf(why, (size_t)size, "out of memory");
    if (files && out) {
        planar_print(out, m, v2);
        fclose(out);
        mj_defaultVFS(files);
        if (mj_makeEmptyFileVFS(files, "model.xml", (int)length) == 0) {
            memcpy(files->filedata[0], text, length);
            e->model = mj_loadXML("model.xml", files, why, size);
        }
        mj_deleteVFS(files);
    }
    free(files);
    free(text);
    if (e->model) e->data = mj_makeData(e->model);
    e->frame_skip = m->frame_skip;
    if (!e->data) mujoco_close(e);
    return e->data != NULL;
}

/* from here on; nothing is kept of before */
static void mujoco_set(mujoco *e, const double *q, const double *v) {
    mj_resetData(e->model, e->data);
    memcpy(e->data->qpos, q, sizeof *q * (size_t)e->model->nq);
    memcpy(e->data->qvel, v, sizeof *v * (size_t)e->model->nv);
}

static void mujoco_steps(mujoco *e, int steps, const double *act, double *q, double *v) {
    int i;
    memcpy(e->data->ctrl, act, sizeof *act * (size_t)e->model->nu);
    for (i = 0; i < steps; i++) mj_step(e->model, e->data);
    memcpy(q, e->data->qpos, sizeof *q * (size_t)e->model->nq);
    memcpy(v, e->data->qvel, sizeof *v * (size_t)e->model->nv);
}

/* a control step; 0: an action that is not finite, nothing is done */
static int mujoco_control(mujoco *e, const double *act, double *q, double *v) {
    const double effort = planar_effort(act, e->model->nu);
    if (!(effort - effort == 0)) return 0;
    mujoco_steps(e, e->frame_skip, act, q, v);
    return 1;
}

/* ---- one environment for each task: its state and rules, with MuJoCo between. place and speed: the first of the
   state's positions and speeds; judge: an expression of state, engine, x (before the step), ctrl and reward. */

/* clang-format off */

#define MUJOCO_TASK(task, motors, place, speed, judge)                                                                 \
    typedef struct mujoco_##task { task state; mujoco engine; } mujoco_##task;                                         \
    static void mujoco_##task##_reset(void *self, const agg_rng *rng, rn_real *obs) {                                  \
        mujoco_##task *t = (mujoco_##task *)self;                                                                      \
        task##_reset(&t->state, rng, obs);                                                                             \
        mujoco_set(&t->engine, &t->state.place, &t->state.speed);                                                      \
    }                                                                                                                  \
    static rn_step_result mujoco_##task##_step(void *self, const rn_real *act, const agg_rng *rng, rn_real *obs,            \
                                          double *reward) {                                                            \
        task   *state = &((mujoco_##task *)self)->state;                                                               \
        mujoco *engine = &((mujoco_##task *)self)->engine;                                                             \
        const double x = state->place;                                                                                 \
        double ctrl[motors];                                                                                           \
        rn_step_result r = RN_TERMINATED;                                                                                   \
        int i;                                                                                                         \
        (void)rng;                                                                                                     \
        (void)x;                                                                                                       \
        *reward = 0;                                                                                                   \
        for (i = 0; i < motors; i++) ctrl[i] = (double)act[i];                                                         \
        if (mujoco_control(engine, ctrl, &state->place, &state->speed)) r = judge;                                     \
        task##_observe(state, obs);                                                                                    \
        return r;                                                                                                      \
    }                                                                                                                  \
    static int mujoco_##task##_env(mujoco_##task *self, rn_env *env, char *why, int size) {                            \
        *env = task##_env(&self->state);                                                                               \
        env->self = self;                                                                                              \
        env->reset = mujoco_##task##_reset;                                                                            \
        env->step = mujoco_##task##_step;                                                                              \
        env->state_size = 0;                                                                                           \
        env->save = NULL;                                                                                              \
        env->load = NULL;                                                                                              \
        return mujoco_open(&self->engine, &task##_model, 0, why, size);                                                \
    }

/* clang-format on */
/* as Gym reads them: tip and forces of the last evaluation inside the last step */
static rn_step_result mujoco_judge_poles(inverted_double_pendulum *p, const mujoco *e,
                                         double *reward) {
    const double *origin = &e->data->xpos[3 * 3],
                 *axes = &e->data->xmat[3 * 9]; /* of the third body, pole2 */
    p->tip_x = origin[0] + 0.6 * axes[2];
    p->tip_z = origin[2] + 0.6 * axes[8];
    memcpy(p->force, e->data->qfrc_constraint, sizeof p->force);
    return inverted_double_pendulum_judge(p, reward);
}
MUJOCO_TASK(inverted_pendulum, 1, x, v, (*reward = 1, inverted_pendulum_judge(state)))
MUJOCO_TASK(inverted_double_pendulum, 1, q[0], v[0], mujoco_judge_poles(state, engine, reward))
MUJOCO_TASK(hopper, 3, q[0], v[0], hopper_judge(state, x, ctrl, reward))
MUJOCO_TASK(walker2d, 6, q[0], v[0], walker2d_judge(state, x, ctrl, reward))
MUJOCO_TASK(half_cheetah, 6, q[0], v[0], half_cheetah_judge(state, x, ctrl, reward))
#endif
