"""The equation of each function, typeset on its page, in the symbols of the papers where they have it."""

from __future__ import annotations

from typing import Any

#: What is found by other means than one equation, is a drawing, a file, a list or a ready-made design.
WITHOUT = {
    "architecture_report", "calibrate_mechanism", "constrained_travel_left", "curvature_map", "dietmaier_platform",
    "filtered_motion", "griffis_duffy_platform", "horn_directions", "identifiability_report", "identify", "is_robust",
    "largest_damping", "level_home", "limit_effort", "mechanism", "parameter_names", "plot_efforts", "plot_friction",
    "plot_legs", "plot_model", "plot_motion", "plot_shares", "reference_platform", "semi_regular_platform",
    "semi_regular_rotary_platform", "simulate_constrained", "spectral_radius", "travel_left", "velocity_delay",
    "velocity_pole", "workspace_slice", "write_report",
}  # fmt: skip

_FIT = r"\min_x \; \sum_k r_k(x)^T \Sigma_k^{-1} r_k(x)"
_CONSTRAINED = (
    r"M \ddot q + b = \tau + A^T \lambda, \qquad A \ddot q + \dot A \dot q = 0, \qquad \ddot q_i "
    r"\text{ given where it is prescribed}"
)

EQUATIONS = {
    # trees
    "inverse_dynamics": r"\tau = M(q) \ddot q + b(q, \dot q) - \sum_i J_i^T F_{ext, i} \qquad \text{Kim (26)-(31)}",
    "forward_dynamics": (
        r"\ddot q = M(q)^{-1} \left( \tau - b(q, \dot q) + \sum_i J_i^T F_{ext, i} \right) \qquad "
        r"\text{Kim, Table 3}"
    ),
    "hybrid_dynamics": (
        r"M \begin{pmatrix} \ddot q_u \\ \ddot q_v \end{pmatrix} + b = \begin{pmatrix} \tau_u \\ \tau_v "
        r"\end{pmatrix}, \qquad \ddot q_u, \tau_v \text{ given} \qquad \text{Kim, Table 4}"
    ),
    "mass_matrix": r"M \ddot q + b = \tau, \qquad M = \sum_i J_i^T I_i J_i + \mathrm{armature} \qquad \text{Kim (32)}",
    "mass_matrix_rate": r"\dot M = C + C^T \qquad \text{Ploen (28)}",
    "solve_mass_matrix": r"M(q) \, x = f",
    "bias_force": r"b(q, \dot q) = C(q, \dot q) \, \dot q + g(q)",
    "gravity_force": r"g(q) = \frac{\partial U}{\partial q}",
    "coriolis_matrix": (
        r"C_{kj} = \Gamma_{ijk} \dot q_i, \qquad \dot M - 2 C = -(\dot M - 2 C)^T \qquad \text{PBP "
        r"(55)-(57), Ploen (37)}"
    ),
    "coriolis_product": r"C(q, \dot q) \, \dot q_r",
    "external_wrench": r"F_b = \mathrm{Ad}_{T_{f b}}^T F_f",
    "forward_kinematics": r"T_i = T_{p(i)} \, M_i \, e^{[S_i] q_i}",
    "frame_pose": r"T = T_i(q) \, T_{i, frame}",
    "jacobian": r"V = J(q) \, \dot q",
    "jacobian_rate": r"\dot V = J \ddot q + \dot J \dot q",
    "body_velocities": r"V_i = \mathrm{Ad}_{T_{p(i), i}^{-1}} V_{p(i)} + S_i \dot q_i",
    "body_accelerations": (
        r"\dot V_i = \mathrm{Ad}_{T_{p(i), i}^{-1}} \dot V_{p(i)} + \mathrm{ad}_{V_i} S_i \dot q_i + "
        r"\dot S_i \dot q_i + S_i \ddot q_i"
    ),
    "kinetic_energy": r"K = \frac{1}{2} \dot q^T M(q) \, \dot q = \frac{1}{2} \sum_i V_i^T I_i V_i",
    "potential_energy": r"U = -\sum_i m_i \, g^T c_i",
    "momentum": r"h = \sum_i \mathrm{Ad}_{T_i^{-1}}^T I_i V_i",
    "center_of_mass": r"c = \frac{1}{m} \sum_i m_i c_i",
    "total_mass": r"m = \sum_i m_i",
    "centroidal_momentum_matrix": r"h_c = A(q) \, \dot q",
    "center_of_mass_derivatives": (
        r"\frac{\partial c}{\partial q}, \quad \frac{\partial \dot c}{\partial q}, \qquad \dot c = "
        r"\frac{\partial c}{\partial q} \dot q"
    ),
    "centroidal_momentum_derivatives": (
        r"\frac{\partial (A \dot q)}{\partial q}, \quad \frac{\partial (A \ddot q + \dot A \dot "
        r"q)}{\partial q}, \quad \frac{\partial (\dot A \dot q)}{\partial \dot q}"
    ),
    # derivatives
    "inverse_dynamics_derivatives": (
        r"\frac{\partial \tau}{\partial q}, \quad \frac{\partial \tau}{\partial \dot q}, \quad "
        r"\frac{\partial \tau}{\partial \ddot q} = M"
    ),
    "forward_dynamics_derivatives": (
        r"\frac{\partial \ddot q}{\partial q} = -M^{-1} \frac{\partial \tau}{\partial q}, \quad "
        r"\frac{\partial \ddot q}{\partial \dot q} = -M^{-1} \frac{\partial \tau}{\partial \dot q}, \quad "
        r"\frac{\partial \ddot q}{\partial \tau} = M^{-1}"
    ),
    "hybrid_dynamics_derivatives": r"\frac{\partial (\ddot q_v, \tau_u)}{\partial (q, \dot q, \ddot q_u, \tau_v)}",
    "bias_force_derivatives": r"\frac{\partial b}{\partial q}, \quad \frac{\partial b}{\partial \dot q}",
    "gravity_force_derivatives": (
        r"\frac{\partial g_i}{\partial q_k} = -\omega_k^T \left( p_i \times g \right) \text{ for } k "
        r"\text{ at or before } i, \qquad p_i = m_i v_i + \omega_i \times h_i"
    ),
    "inverse_dynamics_sensitivity": r"\frac{d \tau}{d p} \qquad \text{Kim, Table 5}",
    "forward_dynamics_sensitivity": r"\frac{d \ddot q}{d p} \qquad \text{Kim, Table 6}",
    "hybrid_dynamics_sensitivity": r"\frac{d (\ddot q_v, \tau_u)}{d p} \qquad \text{Kim, Table 7}",
    "torque_regressor": r"\tau = Y(q, \dot q, \ddot q) \, \pi",
    "inverse_dynamics_second_derivatives": (
        r"\frac{\partial^2 \tau_i}{\partial x_j \, \partial x_k}, \qquad x = (q, \dot q, \ddot q)"
    ),
    "forward_dynamics_second_derivatives": (
        r"\frac{\partial^2 \ddot q_i}{\partial x_j \, \partial x_k}, \qquad x = (q, \dot q, \tau)"
    ),
    "hybrid_dynamics_second_derivatives": (
        r"\frac{\partial^2 (\ddot q_v, \tau_u)_i}{\partial x_j \, \partial x_k}, \qquad x = (q, \dot q, "
        r"\ddot q_u, \tau_v)"
    ),
    # geometry
    "christoffel_symbols": (
        r"\Gamma_{ijk} = \frac{1}{2} \left( \frac{\partial M_{kj}}{\partial q_i} + \frac{\partial "
        r"M_{ki}}{\partial q_j} - \frac{\partial M_{ij}}{\partial q_k} \right) \qquad \text{PBP (52)}"
    ),
    "christoffel_derivatives": r"\frac{\partial \Gamma_{ijk}}{\partial q_l} \qquad \text{PBP (53)-(57)}",
    "christoffel_symbols_second_kind": r"\Gamma_{ij}^k = M^{kh} \Gamma_{ijh}",
    "mass_matrix_derivatives": r"\frac{\partial M_{ij}}{\partial q_k} = \Gamma_{kij} + \Gamma_{kji}",
    "curvature_tensor": r"R_{ijkl} \text{ of the metric } M(q) \qquad \text{PBP (66)}",
    "ricci_tensor": r"\mathrm{Ric}_{jl} = M^{ik} R_{ijkl}",
    "scalar_curvature": r"M^{jl} \, \mathrm{Ric}_{jl}",
    "sectional_curvature": r"\kappa(u, v) = \frac{R(u, v, u, v)}{(u^T M u)(v^T M v) - (u^T M v)^2}",
    "is_flat": r"R_{ijkl} = 0",
    "geodesic": r"\ddot q_k + \Gamma_{ij}^k \, \dot q_i \dot q_j = 0, \qquad q(0) = q_0, \; q(T) = q_1",
    "jacobi_fields": r"\ddot X = -K X, \qquad K_{ab} = R(E_a, \dot q, E_b, \dot q)",
    "first_conjugate_time": r"\det X(t) = 0, \qquad t > 0",
    # constraints
    "constraint_error": r"\Phi(q), \qquad A \dot q",
    "constraint_jacobian": r"A = \frac{\partial \Phi}{\partial q}",
    "constraint_bias": r"\dot A \, \dot q",
    "constraint_quantities": r"\Phi, \quad A, \quad A \dot q, \quad \dot A \dot q",
    "mimic_couplings": r"q_i = a \, q_j + b",
    "assemble": r"\Phi(q) = 0",
    "project_to_constraints": r"\Phi(q) = 0, \qquad A \dot q = 0",
    "consistent_velocity": r"\min_{v} \; (v - \dot q)^T M (v - \dot q), \qquad A v = 0",
    "consistent_acceleration": r"\min_{a} \; (a - \ddot q)^T M (a - \ddot q), \qquad A a + \dot A \dot q = 0",
    "constrained_forward_dynamics": r"M \ddot q + b = \tau + A^T \lambda, \qquad A \ddot q + \dot A \dot q = 0",
    "constrained_inverse_dynamics": (
        r"\tau = M \ddot q + b - A^T \lambda, \qquad \tau_i = 0 \text{ where no motor is}"
    ),
    "constrained_hybrid_dynamics": _CONSTRAINED,
    "constrained_forward_derivatives": r"\frac{\partial (\ddot q, \lambda)}{\partial (q, \dot q, \tau)}",
    "constrained_inverse_derivatives": r"\frac{\partial (\tau, \lambda)}{\partial (q, \dot q, \ddot q)}",
    "constrained_hybrid_derivatives": (
        r"\frac{\partial (\ddot q, \tau, \lambda)}{\partial (q, \dot q, \ddot q_u, \tau_v)}"
    ),
    "constrained_forward_sensitivity": r"\frac{d (\ddot q, \lambda)}{d p}",
    "constrained_inverse_sensitivity": r"\frac{d (\tau, \lambda)}{d p}",
    "constrained_hybrid_sensitivity": r"\frac{d (\ddot q, \tau, \lambda)}{d p}",
    "loop_wrenches": r"F = B^T \lambda",
    "platform_wrench": r"e = -(J G)^T w",
    # platforms
    "solve_forward_kinematics": r"| p + R \, b_i - a_i | = L_i, \qquad i = 1 \ldots 6",
    "assembly_modes": r"| p + R \, b_i - a_i |^2 = L_i^2 \qquad \text{all poses}",
    "poses_near": r"L(T) = L, \qquad T_{k+1} = T_k \exp\left( J^{-1} (L - L(T_k)) \right)",
    "solve_from_home": r"L_i(T(s))^2 = (1 - s) \, L_i(T_0)^2 + s \, L_i^2",
    "leg_length_second_derivatives": r"L_i(T e^x) = L_i + J_i x + \frac{1}{2} x^T H_i x + \ldots",
    "wrench_of_leg_forces": r"W = J^T f",
    "leg_forces_for_wrench": r"f = J^{-T} W",
    "holding_forces": r"J^T f + W = 0",
    "stiffness": r"K = J^T K_L J",
    "weight_wrench": r"W = \begin{pmatrix} c \times m R^T g \\ m R^T g \end{pmatrix}",
    "calibrate": _FIT,
    "calibrate_measured": _FIT,
    "calibrate_rotary": _FIT,
    "poses_to_measure": r"\max_{T} \; \det \left( P^{-1} + D(T)^T \Sigma^{-1} D(T) \right)",
    # control
    "computed_torque": (
        r"\tau = M(q) \left( \frac{d}{dt} (\mathrm{Ad}_{\exp e} \dot q_d) + K_d \delta + J_l(e)^{-T} K_p e \right) "
        r"+ b(q, \dot q)"
    ),
    "feedforward_pd": r"\tau = M(q_d) \ddot q_d + b(q_d, \dot q_d) + K_d \delta + J_l(e)^{-T} K_p e",
    "gravity_compensation": r"\tau = g(q) - K_d \dot q",
    "tracking_error": r"e = \log(q^{-1} q_d), \qquad \delta = \mathrm{Ad}_{\exp e} \dot q_d - \dot q",
    "gradient": r"J_l(e)^{-T} K e",
    "position_rate": r"\frac{d e}{d t} = J_l(e)^{-1} \delta",
    "sliding_reference": (
        r"v_r = \mathrm{Ad}_{\exp e} \dot q_d + \Lambda e, \qquad a_r = \dot v_r, \qquad s = \dot q - v_r"
    ),
    "passivity_based": r"\tau = M a_r + C(q, \dot q) \, v_r + g - K_d s",
    "slotine_li_force": r"M a_r + C(q, \dot q) \, v_r + g",
    "slotine_li_regressor": r"M a_r + C(q, \dot q) \, v_r + g = Y \pi",
    "operational_space": (
        r"\tau = J^T \Lambda \left( \dot V - \dot J \dot q + J M^{-1} b_0 \right) + N^T \tau_0, \qquad "
        r"\Lambda = (J M^{-1} J^T)^{-1}"
    ),
    "impedance": r"\Lambda \frac{d}{dt} \delta + D \, \delta + J_l(e)^{-T} K e = -F",
    "posture_torque": r"\tau_0 = M \left( k_p (q_p - q) - k_d \dot q \right)",
    "limited_damping": r"D_c v, \qquad D_c = \left( D^{-1} + (c M)^{-1} \right)^{-1}",
    "limited_damping_matrix": r"D_c = \left( D^{-1} + (c M)^{-1} \right)^{-1}",
    "sampled_loop": r"x_{k+1} = \Phi \, x_k",
    "velocity_noise": r"\frac{\sigma_v}{\sigma_q} = \frac{1}{h} \sqrt{2} \left( \frac{1 - p}{1 + p} \right)^{3/2}",
    # estimation and identification
    "contact_wrench": r"\min_F \; (\tau - J^T F)^T C^{-1} (\tau - J^T F)",
    "tool_contact": r"F = F_s + G A - \mathrm{ad}_V^T G V",
    "calibrate_force_sensor": r"n = b_n + (m c) \times g, \qquad f = b_f + m g",
    "next_direction": r"\min_g \; \det \mathrm{cov}(m, m c)",
    "ball_of_water": r"r = \left( \frac{3 m}{4 \pi \rho} \right)^{1/3}, \qquad I = \frac{2}{5} m r^2 \, 1",
    "regression": r"\tau = Y(q, \dot q, \ddot q) \, \pi",
    "base_parameters": r"Y \pi = Y_b \, \pi_b",
    "identify_robot": r"\min_\pi \; (\tau - Y \pi)^T \Sigma^{-1} (\tau - Y \pi), \qquad P_i(\pi) > 0",
    "identify_payload": r"\tau - \tau_0 = Y_p \, \pi_p",
    "gains_from_payload": r"k_j \, \Delta i_j = Y_p \, \pi_p",
    "exciting_motion": r"\max \; \det \left( Y_b^T \Sigma^{-1} Y_b \right)",
    "calibrate_kinematics": _FIT,
    # simulation and optimal motions
    "simulate": r"M \ddot q + b = \tau(t, q, \dot q)",
    "integrate_motion": r"\ddot q = f(t, q, \dot q)",
    "semi_implicit_step": r"\dot q_{k+1} = \dot q_k + h \, \ddot q_k, \qquad q_{k+1} = q_k \exp(h \, \dot q_{k+1})",
    "rkmk4_step": r"q = q_0 \exp(u), \qquad \dot u = J_r(u)^{-1} \dot q",
    "linearize": r"x_{k+1} = F(x_k, \tau), \qquad \frac{\partial F}{\partial x}, \; \frac{\partial F}{\partial \tau}",
    "joint_forces": r"\tau_i = -d_i \dot q_i - f_i \, s(\dot q_i) + \tau_{stop}(q_i, \dot q_i)",
    "torque_optimal_motion": (
        r"\min_{q(t)} \; \int_0^T \tau^T \tau \, dt, \qquad q(0), \dot q(0), q(T), \dot q(T) \text{ "
        r"given}"
    ),
    "optimal_motion": (
        r"\min_{q(t), T} \; \int_0^T \ell(\dot q, \ddot q, \dddot q, \tau) \, dt, \qquad \text{limits "
        r"kept}"
    ),
    # the papers as they print them
    "product_of_exponentials": r"T = e^{[A_1] q_1} \cdots e^{[A_n] q_n} M",
    "recursive_inverse_dynamics": (
        r"F_i = \mathrm{Ad}^*_{T_{i, i+1}^{-1}} F_{i+1} + I_i \dot V_i - \mathrm{ad}^*_{V_i} I_i V_i, "
        r"\qquad \tau_i = S_i^T F_i"
    ),
    "mass_matrix_by_entries": (
        r"m_{ij} = \sum_k \langle \mathrm{Ad}_k^{i+1} A_i, \mathrm{Ad}_k^{j+1} A_j \rangle_k \qquad "
        r"\text{PBP (40)}"
    ),
    "mass_factors": r"M = A^T L^T D L A = S^T G^T J G S \qquad \text{PBP (41)-(50)}",
    "ploen_matrices": r"M = S^T G^T J G S, \qquad \dot M - 2 C \text{ skew} \qquad \text{Ploen (19)-(37)}",
    "body_coriolis": r"C_t V = -\mathrm{ad}^*_V J V, \qquad C_t = -C_t^T \qquad \text{Ploen, Proposition 1}",
    "exponential_jacobian": r"V = f^{-1} \dot f = J \, \dot q",
    "inertial_regressor": r"I \dot V - \mathrm{ad}^*_V I V = Y \pi",
}


def typeset(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Put the equation of a function behind the first paragraph of its docstring."""
    equation = EQUATIONS.get(name.rpartition(".")[2]) if what == "function" else None
    if equation is not None:
        place = next((k for k, line in enumerate(lines) if not line.strip()), len(lines))
        lines[place:place] = ["", ".. math::", "", f"   {equation}", ""]


def setup(app: Any) -> dict[str, bool]:
    """Read docstrings through it."""
    app.connect("autodoc-process-docstring", typeset)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
