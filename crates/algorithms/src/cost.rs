//! Evaluation of the cost formulas that algorithms declare.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use exmex::prelude::*;
use hocket_core::{Error, Result};

thread_local! {
    /// A formula is read once, as reading takes as long as simulating a short call.
    static READ: RefCell<HashMap<String, Rc<Cost>>> = RefCell::default();
}

/// A formula of an algorithm's [`crate::About`], ready to be evaluated.
pub struct Cost {
    formula: FlatEx<f64>,
}

/// The values that a formula is evaluated at: ranks, message and the Hockney parameters.
#[derive(Clone, Debug)]
pub struct Price {
    /// P
    pub ranks: usize,
    /// n, bytes
    pub size_bytes: f64,
    /// alpha, seconds
    pub alpha_s: f64,
    /// beta, seconds per byte
    pub beta_s: f64,
    /// gamma, seconds per byte
    pub gamma_s: f64,
    /// o, seconds: how long the message occupies its sender, where the machine says so.
    pub overhead_s: Option<f64>,
    /// ports: those that the algorithm can use.
    pub wanted_ports: usize,
    /// k: those of a node among them.
    pub ports: usize,
    /// The algorithm's own parameters, and the values of its parts.
    pub parameters: Vec<(&'static str, f64)>,
}

impl Cost {
    /// The formula of a text.
    ///
    /// # Errors
    /// Not a formula.
    pub fn of(text: &str) -> Result<Rc<Self>> {
        if let Some(read) = READ.with_borrow(|all| all.get(text).cloned()) {
            return Ok(read);
        }
        let formula = exmex::parse(text).map_err(|e| Error::new(format!("formula {text:?}: {e}")))?;
        let read = Rc::new(Self { formula });
        READ.with_borrow_mut(|all| all.insert(text.to_owned(), Rc::clone(&read)));
        Ok(read)
    }

    /// Whether the formula says how long senders are occupied.
    pub fn knows_overhead(&self) -> bool {
        self.formula.var_names().iter().any(|name| name == "o")
    }

    /// Value of the formula.
    ///
    /// # Errors
    /// A name in the formula that is neither one of the model's nor a parameter.
    pub fn at(&self, price: &Price) -> Result<f64> {
        let values: Result<Vec<f64>> = self.formula.var_names().iter().map(|name| price.value(name)).collect();
        self.formula.eval(&values?).map_err(|e| Error::new(format!("formula: {e}")))
    }
}

impl Price {
    /// turns: how many times as long as alone a chain of messages takes, at most, if each of the `ports` has one as long, and
    /// `k` move at a time: it waits only while k others move.
    ///
    /// Source: R. L. Graham, "Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math. 17, 1969, theorem 1.
    fn turns(&self) -> f64 {
        let others = (self.wanted_ports - 1) as f64;
        if self.ports == self.wanted_ports { 1.0 } else { 1.0 + others / self.ports as f64 }
    }

    fn value(&self, name: &str) -> Result<f64> {
        match name {
            "P" => Ok(self.ranks as f64),
            "n" => Ok(self.size_bytes),
            "alpha" => Ok(self.alpha_s),
            "beta" => Ok(self.beta_s),
            "gamma" => Ok(self.gamma_s),
            "o" => Ok(self.overhead_s.unwrap_or(0.0)),
            "ports" => Ok(self.wanted_ports as f64),
            "k" => Ok(self.ports as f64),
            "turns" => Ok(self.turns()),
            _ => {
                let parameter = self.parameters.iter().find(|(key, _)| *key == name);
                parameter.map(|(_, value)| *value).ok_or_else(|| Error::new(format!("formula: unknown name {name:?}")))
            }
        }
    }
}
