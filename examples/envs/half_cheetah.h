/* half_cheetah.h - MuJoCo's HalfCheetah (Gym v2, v4): a trunk, a head and two legs of three joints,
   to run forward
   SPDX-License-Identifier: MIT OR Unlicense

       half_cheetah c;                         // yours; plain data
       rn_env env = half_cheetah_env(&c);      // 17 observations, 6 actions, -1 .. 1

   The model of MuJoCo 2.2.2, simulated by planar.h; half_cheetah_env_v2() has the masses of the -v2
   tasks. 20 control steps a second, of five Euler steps. Joints have springs.
   Observation: positions but x (height above 0.7, angle of the trunk, back thigh, shin, foot, front
   ones), then the nine speeds.
   Action: 120, 90, 60 Nm times it on the back leg, 120, 60, 30 Nm on the front leg, clamped to +-1.
   Reward: speed - 0.1 |action|^2, of the action as given.
   It never ends, falls included; only an action that is not finite terminates, with reward 0. Gym's
   limit of 1000 steps is the horizon of the trainer and of the evaluation. */
#ifndef HALF_CHEETAH_H
#define HALF_CHEETAH_H
#include "planar.h"

/* q: x, z - 0.7, angle, back thigh, shin, foot, front thigh, shin, foot */
typedef planar_body half_cheetah;

/* clang-format off */
static const planar_model half_cheetah_model = {
    "half_cheetah", 9, 8, 0, /* joints, capsules, pairs of them */
    /* Euler, physics steps a control step, seconds, gravity, largest control */
    1, 5, 0.01, 0, -9.81, 1,
    {0.02, 0, 0.8, 0.03, 0}, {0.02, 0, 0.8, 0.01, 0}, /* joints' stops, contacts */
    /* name, body, parent, kind, x, z, start, low, high, spring, damping, rotor, gear */
    {{"rootx",  NULL,     -1, PLANAR_SLIDE_X, 0,     0,     0, 0,      0,     0,   0,   0,   0},
     {"rootz",  NULL,     0,  PLANAR_SLIDE_Z, 0,     0.7,   0, 0,      0,     0,   0,   0,   0},
     {"rooty",  "torso",  1,  PLANAR_HINGE,   0,     0,     0, 0,      0,     0,   0,   0,   0},
     {"bthigh", "bthigh", 2,  PLANAR_HINGE,   -0.5,  0,     0, -0.52,  1.05,  240, 6,   0.1, 120},
     {"bshin",  "bshin",  3,  PLANAR_HINGE,   0.16,  -0.25, 0, -0.785, 0.785, 180, 4.5, 0.1, 90},
     {"bfoot",  "bfoot",  4,  PLANAR_HINGE,   -0.28, -0.14, 0, -0.4,   0.785, 120, 3,   0.1, 60},
     {"fthigh", "fthigh", 2,  PLANAR_HINGE,   0.5,   0,     0, -1,     0.7,   180, 4.5, 0.1, 120},
     {"fshin",  "fshin",  6,  PLANAR_HINGE,   -0.14, -0.24, 0, -1.2,   0.87,  120, 3,   0.1, 60},
     {"ffoot",  "ffoot",  7,  PLANAR_HINGE,   0.13,  -0.18, 0, -0.5,   0.5,   60,  1.5, 0.1, 30}},
    /* mass, centre, inertia, weight of the body, of the joint */
    {{{0, 0, 0, 0, 0, 0.10673572816871127},
      {0, 0, 0, 0, 0, 0.08459229161068713},
      {6.25020920502092, 0.15238987816307403, 0.025398313027179008, 0.8971176881117434,
       0.06415751945610274, 0.4163470619857747},
      {1.5435146443514645, 0.1, -0.13, 0.01684433958158996,
       0.09691101560963145, 2.7297886448848923},
      {1.5874476987447697, -0.14, -0.07, 0.018267419079497912,
       0.12720922534654558, 5.893248984162906},
      {1.0953974895397491, 0.03, -0.097, 0.0063524232635983275,
       0.24374928349017175, 8.894877004054676},
      {1.4380753138075317, -0.07, -0.12, 0.013739643347280341,
       0.08148379481367075, 3.0813926054768763},
      {1.200836820083682, 0.065, -0.09, 0.008222108619246861,
       0.13199681790077375, 6.882795962275772},
      {0.8845188284518829, 0.045, -0.07, 0.003529109456066946,
       0.2661441029233888, 9.468134962769764}},
     {{0, 0, 0, 0, 0, 0.10600081966440701},
      {0, 0, 0, 0, 0, 0.0842375182458834},
      {6.360313315926893, 0.14913793103448272, 0.02485632183908046, 0.8944536067044806,
       0.06377909582944959, 0.4198036335925656},
      {1.5352480417754566, 0.1, -0.13, 0.01525575979112271, 0.09700884062191273, 2.752919054533128},
      {1.5809399477806787, -0.14, -0.07, 0.01660830113141862,
       0.12844422301443004, 5.948120033778157},
      {1.0691906005221932, 0.03, -0.097, 0.005444318537859006,
       0.24839237287746033, 8.963902704255732},
      {1.4255874673629243, -0.07, -0.12, 0.01231850130548303,
       0.0819147507793322, 3.125959399996159},
      {1.178851174934726, 0.065, -0.09, 0.007162699738903394,
       0.13451145188193733, 6.959989667781741},
      {0.8498694516971279, 0.045, -0.07, 0.0028997545691906,
       0.27387402970798846, 9.517933851774783}}},
    /* name, joint, from, to, radius, friction */
    {{"torso", 2, 0.5, 0, -0.5, 0, 0.046, 0.4},
     {"head", 2, 0.4853506594461742, 0.0032760179139998263,
      0.7146493405538257, 0.19672398208600017, 0.046, 0.4},
     {"bthigh", 3, 0.011280605813305769, -0.015309681772409586,
      0.18871939418669426, -0.2446903182275904, 0.046, 0.4},
     {"bshin", 4, -0.005539138827266005, -0.003514837650143668,
      -0.27446086117273405, -0.13648516234985636, 0.046, 0.4},
     {"bfoot", 5, 0.05507275504875012, -0.1875944642583937,
      0.004927244951249875, -0.006405535741606308, 0.046, 0.4},
     {"fthigh", 6, -0.136085058333217, -0.23541995089712742,
      -0.003914941666783009, -0.004580049102872574, 0.046, 0.4},
     {"fshin", 7, 0.12485210217987375, -0.1774855751804259,
      0.005147897820126264, -0.0025144248195741042, 0.046, 0.4},
     {"ffoot", 8, 0.08452497313765248, -0.1277734930436775,
      0.005475026862347528, -0.012226506956322526, 0.046, 0.4}},
    {{0, 0}}};
/* clang-format on */

ENV_BEGIN

ENV_FN void half_cheetah_physics(int v2, double *q, double *v, const double *ctrl, planar_work *k) {
    planar_physics(&half_cheetah_model, half_cheetah_model.mass[v2 != 0], q, v, ctrl, k);
}

ENV_FN void half_cheetah_observe(const planar_body *c, rn_real *obs) {
    int i;
    for (i = 0; i < 8; i++) obs[i] = (rn_real)c->q[i + 1];
    for (i = 0; i < 9; i++) obs[i + 8] = (rn_real)c->v[i];
}

ENV_FN rn_step_result half_cheetah_judge(const planar_body *c, double x, const double *act,
                                         double *reward) {
    *reward = (c->q[0] - x) / (0.01 * 5) - 0.1 * planar_effort(act, 6);
    return RN_RUNNING;
}

/* clang-format off */
static const planar_task half_cheetah_task = {
    &half_cheetah_model, half_cheetah_physics, NULL, half_cheetah_observe, half_cheetah_judge,
    17, 0.1, 0.1, 1,  /* observations; noise at the start: positions uniform, speeds normal */
    0, 0, PLANAR_LOST /* actions as given; 0 for a refused step; largest number to load */
};
/* clang-format on */

ENV_FN rn_env half_cheetah_env(half_cheetah *self) {
    return planar_env(self, &half_cheetah_task, 0);
}

ENV_FN rn_env half_cheetah_env_v2(half_cheetah *self) {
    return planar_env(self, &half_cheetah_task, 1);
}

ENV_END
#endif
