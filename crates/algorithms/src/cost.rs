//! Evaluation of the cost formulas that algorithms declare.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use exmex::prelude::*;
use hocket_core::{Error, Result};

thread_local! {
    /// Each formula is parsed once: parsing takes as long as simulating a short call.
    static READ: RefCell<HashMap<String, Rc<Cost>>> = RefCell::default();
}

/// A formula of an algorithm's [`crate::About`], ready to be evaluated.
pub struct Cost {
    formula: FlatEx<f64>,
}

/// The values for which a formula is evaluated: ranks, message and the parameters of the Hockney model.
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
    /// o, seconds: how long the message occupies its sender, if the machine sets it.
    pub overhead_s: Option<f64>,
    /// ports: how many ports the algorithm can use.
    pub usable_ports: usize,
    /// k: how many of these ports a node has.
    pub ports: usize,
    /// The algorithm's own parameters, and the values of its parts.
    pub parameters: Vec<(&'static str, f64)>,
}

impl Cost {
    /// The formula of a text.
    pub fn of(text: &str) -> Result<Rc<Self>> {
        if let Some(read) = READ.with_borrow(|all| all.get(text).cloned()) {
            return Ok(read);
        }
        let formula = exmex::parse(text).map_err(|e| Error::new(format!("formula {text:?}: {e}")))?;
        let read = Rc::new(Self { formula });
        READ.with_borrow_mut(|all| all.insert(text.to_owned(), Rc::clone(&read)));
        Ok(read)
    }

    /// Whether the formula contains `o`, the time that a message occupies its sender.
    pub fn knows_overhead(&self) -> bool {
        self.formula.var_names().iter().any(|name| name == "o")
    }

    /// Value of the formula.
    ///
    /// # Errors
    /// A name in the formula that is neither a name of the model nor a parameter.
    pub fn at(&self, price: &Price) -> Result<f64> {
        let values: Result<Vec<f64>> = self.formula.var_names().iter().map(|name| price.value(name)).collect();
        self.formula.eval(&values?).map_err(|e| Error::new(format!("formula: {e}")))
    }
}

impl Price {
    /// turns: about how many times slower a chain of messages is than alone. Each of the `ports` has a chain as long, and
    /// `k` messages move at a time. So a chain waits only while k messages of other chains move. This would be a bound if
    /// a message needed a port at one end only.
    ///
    /// Source: R. L. Graham, "Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math. 17, 1969, theorem 1.
    fn turns(&self) -> f64 {
        let others = (self.usable_ports - 1) as f64;
        if self.ports == self.usable_ports { 1.0 } else { 1.0 + others / self.ports as f64 }
    }

    fn value(&self, name: &str) -> Result<f64> {
        match name {
            "P" => Ok(self.ranks as f64),
            "n" => Ok(self.size_bytes),
            "alpha" => Ok(self.alpha_s),
            "beta" => Ok(self.beta_s),
            "gamma" => Ok(self.gamma_s),
            "o" => Ok(self.overhead_s.unwrap_or(0.0)),
            "ports" => Ok(self.usable_ports as f64),
            "k" => Ok(self.ports as f64),
            "turns" => Ok(self.turns()),
            _ => {
                let parameter = self.parameters.iter().find(|(key, _)| *key == name);
                parameter.map(|(_, value)| *value).ok_or_else(|| Error::new(format!("formula: unknown name {name:?}")))
            }
        }
    }
}
