//! The customer's own view, opened in another tab.

use leptos::prelude::*;

use crate::api::Api;
use crate::browser;
use crate::components::submit::SubmitAction;

/// Opens the view of a customer. Browsers permit another tab only during the press, so it opens empty, and shows the view once its
/// token has come.
pub(super) fn show_view(api: Api, tenant: &str, customer: &str, action: SubmitAction) {
    let token = api.view_token(tenant, customer);
    let tab = browser::open_tab();
    let shown = async move {
        let answer = token.await;
        if answer.is_err()
            && let Some(tab) = &tab
        {
            drop(tab.close());
        }
        Ok((tab, answer?))
    };
    action.run(shown, |(tab, answer)| {
        let address = format!("/u/#{}", answer.token);
        let tab = tab.unwrap_or_else(window);
        drop(tab.location().set_href(&address));
    });
}
