//! All tests of algorithms in worlds, in one program: the catalogue is compiled for each world once, not for each file.

mod arrivals;
mod bounds;
mod cadence;
mod catalogue;
mod circuits;
mod contract_memory;
mod contract_networks;
mod contract_noise;
mod contract_record;
mod contract_simulate;
mod contract_verify;
mod engines;
mod exchange;
mod faults;
mod hosts;
mod levels;
mod loggops;
mod measured;
mod multicast;
mod orders;
mod pacing;
mod symmetry;
mod together;
mod tori;
mod trinaryx3;
mod worlds;
