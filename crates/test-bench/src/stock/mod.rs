//! A stock Karmada, as far as ours meets it: what its API server keeps ([`serve_like_stock`]), what its controllers write
//! ([`StockActors`]), what people write there ([`in_stocks_form`]), and all of that beside the components of a story
//! ([`Company`]).

mod actors;
mod company;
mod forms;
mod serving;

pub use actors::StockActors;
pub use company::{Company, Excepted};
pub use forms::{in_stocks_form, patch_in_stocks_form};
pub use serving::{serve_like_stock, stocks_crds};
