/* walker2d.h - MuJoCo's Walker2d (Gym v2, v4): two legs of three joints under a torso, to walk
   forward and not to fall
   SPDX-License-Identifier: MIT OR Unlicense

       walker2d w;                             // yours; plain data
       rn_env env = walker2d_env(&w);          // 17 observations, 6 actions, -1 .. 1

   The model of MuJoCo 2.2.2, simulated by planar.h; walker2d_env_v2() has the masses of the -v2
   tasks. 125 control steps a second, of four Runge-Kutta steps. The left foot grips twice as well
   as the right: so it stands in the original.
   Observation: positions but x (height, angle of the torso, right thigh, leg, foot, left ones),
   then the nine speeds, clipped to +-10.
   Action: 100 Nm times it on each joint, right leg first, clamped to +-1.
   Reward: speed + 1 - 0.001 |action|^2, of the action as given.
   Terminated: height outside 0.8 .. 2, |angle| >= 1; and, with reward 0, an action that is not
   finite. It never truncates: Gym's limit of 1000 steps is the horizon of the trainer and of the
   evaluation. */
#ifndef WALKER2D_H
#define WALKER2D_H
#include "planar.h"

typedef planar_body walker2d; /* q: x, z, angle, right thigh, leg, foot, left thigh, leg, foot */

/* clang-format off */
static const planar_model walker2d_model = {
    "walker2d", 9, 7, 0, /* joints, capsules, pairs of them */
    /* Runge-Kutta, physics steps a control step, seconds, gravity, largest control */
    0, 4, 0.002, 0, -9.81, 1,
    {0.02, 0.9, 0.95, 0.001, 0}, {0.02, 0.9, 0.95, 0.001, 0}, /* joints' stops, contacts */
    /* name, body, parent, kind, x, z, start, low, high, spring, damping, rotor, gear */
    {{"rootx", NULL,    -1, PLANAR_SLIDE_X, 0, 0,    0,    0, 0, 0, 0, 0, 0},
     {"rootz", NULL,    0,  PLANAR_SLIDE_Z, 0, 1.25, 1.25, 0, 0, 0, 0, 0, 0},
     {"rooty", "torso", 1,  PLANAR_HINGE,   0, 0,    0,    0, 0, 0, 0, 0, 0},
     /* name, body, parent, z, range, damping, rotor, gear */
     PLANAR_LEG("thigh_joint",      "thigh",      2, -0.2,  -150, 0,  0.1, 0.01, 100),
     PLANAR_LEG("leg_joint",        "leg",        3, -0.45, -150, 0,  0.1, 0.01, 100),
     PLANAR_LEG("foot_joint",       "foot",       4, -0.5,  -45,  45, 0.1, 0.01, 100),
     PLANAR_LEG("thigh_left_joint", "thigh_left", 2, -0.2,  -150, 0,  0.1, 0.01, 100),
     PLANAR_LEG("leg_left_joint",   "leg_left",   6, -0.45, -150, 0,  0.1, 0.01, 100),
     PLANAR_LEG("foot_left_joint",  "foot_left",  7, -0.5,  -45,  45, 0.1, 0.01, 100)},
    /* mass, centre, inertia, weight of the body, of the joint */
    {{{0, 0, 0, 0, 0, 0.2074303103435548},
      {0, 0, 0, 0, 0, 0.04851918372605742},
      {3.6651914291880923, 0, 0, 0.069245938072875, 0.08531649802320407, 6.024912105381173},
      {4.057890510886818, 0, -0.225, 0.09329875682692194, 0.06051637875212596, 12.106152843486353},
      {2.7813566959781637, 0, -0.25, 0.07230254017320971, 0.06299719488697496, 9.59529493718361},
      {3.1667253948185117, 0.1, 0, 0.02399774663482943, 0.13474576502547686, 18.211422123604848},
      {4.057890510886818, 0, -0.225, 0.09329875682692194, 0.06051637875212596, 12.106152843486353},
      {2.7813566959781637, 0, -0.25, 0.07230254017320971, 0.06299719488697496, 9.59529493718361},
      {3.1667253948185117, 0.1, 0, 0.02399774663482943, 0.13474576502547686, 18.211422123604848}},
     {{0, 0, 0, 0, 0, 0.21751675467999154},
      {0, 0, 0, 0, 0, 0.05067524609255448},
      {3.5342917352885177, 0, 0, 0.06185010536754906, 0.08939733359084867, 6.42409903976375},
      {3.926990816987242, 0, -0.225, 0.08426667794785124, 0.06308227634290738, 12.924086627536427},
      {2.7143360527015816, 0, -0.25, 0.06704410050172908, 0.06597280573420926, 10.164575215252084},
      {2.940530723760046, 0.1, 0, 0.019211467395232305, 0.14617839533072916, 20.211453769551216},
      {3.926990816987242, 0, -0.225, 0.08426667794785124, 0.06308227634290738, 12.924086627536427},
      {2.7143360527015816, 0, -0.25, 0.06704410050172908, 0.06597280573420926, 10.164575215252084},
      {2.940530723760046, 0.1, 0, 0.019211467395232305, 0.14617839533072916, 20.211453769551216}}},
    /* name, joint, from, to, radius, friction */
    {{"torso_geom",      2, 0,   -0.2,  0, 0.2, 0.05, 0.9},
     {"thigh_geom",      3, 0,   -0.45, 0, 0,   0.05, 0.9},
     {"leg_geom",        4, 0,   -0.5,  0, 0,   0.04, 0.9},
     {"foot_geom",       5, 0.2, 0,     0, 0,   0.06, 0.9},
     {"thigh_left_geom", 6, 0,   -0.45, 0, 0,   0.05, 0.9},
     {"leg_left_geom",   7, 0,   -0.5,  0, 0,   0.04, 0.9},
     {"foot_left_geom",  8, 0.2, 0,     0, 0,   0.06, 1.9}},
    {{0, 0}}};
/* clang-format on */

ENV_BEGIN

ENV_FN void walker2d_physics(int v2, double *q, double *v, const double *ctrl, planar_work *k) {
    planar_physics(&walker2d_model, walker2d_model.mass[v2 != 0], q, v, ctrl, k);
}

ENV_FN void walker2d_observe(const planar_body *w, rn_real *obs) {
    int i;
    for (i = 0; i < 8; i++) obs[i] = (rn_real)w->q[i + 1];
    for (i = 0; i < 9; i++) obs[i + 8] = (rn_real)planar_clamp(w->v[i], 10);
}

ENV_FN rn_step_result walker2d_judge(const planar_body *w, double x, const double *act,
                                     double *reward) {
    *reward = (w->q[0] - x) / (0.002 * 4) + 1 - 1e-3 * planar_effort(act, 6);
    return w->q[1] > 0.8 && w->q[1] < 2 && w->q[2] > -1 && w->q[2] < 1 ? RN_RUNNING : RN_TERMINATED;
}

/* clang-format off */
static const planar_task walker2d_task = {
    &walker2d_model, walker2d_physics, NULL, walker2d_observe, walker2d_judge,
    17, 0.005, 0.005, 0, /* observations; noise at the start: positions, speeds, both uniform */
    0, 0, PLANAR_LOST    /* actions as given; 0 for a refused step; largest number to load */
};
/* clang-format on */

ENV_FN rn_env walker2d_env(walker2d *self) { return planar_env(self, &walker2d_task, 0); }

ENV_FN rn_env walker2d_env_v2(walker2d *self) { return planar_env(self, &walker2d_task, 1); }

ENV_END
#endif
