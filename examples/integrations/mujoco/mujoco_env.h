/* mujoco_env.h - the five tasks of examples/envs/planar.h on the real MuJoCo, as environments of
   resnharpg.h
   SPDX-License-Identifier: MIT OR Unlicense

       static mujoco_body h;
       char why[256];
       rn_env env;
       if (!mujoco_env(&h, hopper_env(&h.body), &env, why, sizeof why)) puts(why);
       // ... train with env ...
       mujoco_close(&h.engine);

   MuJoCo loads the model that the task prints of itself; observation, reward, end and start are the
   task's own code. So only the simulation is another, and it is the same to rounding: see
   compare.c. For a model of your own, write a planar_task's observe and judge, and load your file
   where mujoco_open() loads the printed one.
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

/* ---- an environment: a body of planar.h and the rules of its task, with MuJoCo between */
typedef struct mujoco_body {
    planar_body body;
    mujoco engine;
} mujoco_body;

/* As Gym reads them: tip (of the last body) and forces of the last evaluation inside the last
   step. The counterpart of planar_sense(). */
static void mujoco_sense(const mujoco *e, const planar_model *m, planar_body *b) {
    const planar_capsule *last = &m->capsule[m->capsules - 1];
    const int body = e->model->nbody - 1;
    const double *origin = &e->data->xpos[3 * body], *axes = &e->data->xmat[9 * body];
    b->tip_x = origin[0] + axes[0] * last->ax + axes[2] * last->az;
    b->tip_z = origin[2] + axes[6] * last->ax + axes[8] * last->az;
    memcpy(b->force, e->data->qfrc_constraint, sizeof b->force[0] * (size_t)m->joints);
}

/* a control step; an action that is not finite ends the trajectory, and nothing is done */
static rn_step_result mujoco_move(mujoco_body *self, const double *act, double *reward) {
    planar_body *b = &self->body;
    const planar_task *t = b->task;
    const double x = b->q[0], effort = planar_effort(act, self->engine.model->nu);
    *reward = t->lost_reward;
    if (!(effort - effort == 0)) return RN_TERMINATED;
    mujoco_steps(&self->engine, t->model->frame_skip, act, b->q, b->v);
    if (t->sense) mujoco_sense(&self->engine, t->model, b);
    return t->judge(b, x, act, reward);
}

static void mujoco_reset(void *self, const agg_rng *rng, rn_real *obs) {
    mujoco_body *m = (mujoco_body *)self;
    planar_reset(&m->body, rng, obs);
    mujoco_set(&m->engine, m->body.q, m->body.v);
}

static rn_step_result mujoco_step(void *self, const rn_real *act, const agg_rng *rng, rn_real *obs,
                                  double *reward) {
    mujoco_body *m = (mujoco_body *)self;
    double ctrl[PLANAR_JOINTS];
    rn_step_result r;
    (void)rng;
    planar_read_action(m->body.task, act, ctrl);
    r = mujoco_move(m, ctrl, reward);
    m->body.task->observe(&m->body, obs);
    return r;
}

/* ours: made of self->body. 0: the reason is in `why` */
static int mujoco_env(mujoco_body *self, rn_env ours, rn_env *env, char *why, int size) {
    *env = ours;
    env->self = self;
    env->reset = mujoco_reset;
    env->step = mujoco_step;
    env->state_size = 0;
    env->save = NULL;
    env->load = NULL;
    return mujoco_open(&self->engine, self->body.task->model, self->body.v2, why, size);
}
#endif
