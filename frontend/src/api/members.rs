//! Members and invitations.

use gloo_net::http::Method;
use weir_wire::members::{
    ChangeMember, Invitation, Invite, IssuedInvitation, Member, Offer, PresentInvitation,
    RemovedMember,
};
use weir_wire::page::Page;
use weir_wire::tenants::{Role, Tenant};

use super::request::{Call, send};
use super::{Api, Problem};

impl Api {
    /// The first 200 members of a tenant.
    pub async fn members(self, tenant: &str) -> Result<Vec<Member>, Problem> {
        let page: Page<Member> = self.read(format!("/tenants/{tenant}/members?limit=200")).await?;
        Ok(page.data)
    }

    pub async fn set_role(self, tenant: &str, user: &str, role: Role) -> Result<Member, Problem> {
        let path = format!("/tenants/{tenant}/members/{user}");
        self.call(Call::new(Method::PATCH, path).body(&ChangeMember { role })).await
    }

    /// Removes a member (`me` for the signed-in person). Returns what the member created in the tenant, if anything.
    pub async fn remove_member(
        self,
        tenant: &str,
        user: &str,
    ) -> Result<Option<RemovedMember>, Problem> {
        self.call(Call::new(Method::DELETE, format!("/tenants/{tenant}/members/{user}"))).await
    }

    /// The newest 200 open invitations.
    pub async fn invitations(self, tenant: &str) -> Result<Vec<Invitation>, Problem> {
        let path = format!("/tenants/{tenant}/invitations?limit=200");
        let page: Page<Invitation> = self.read(path).await?;
        Ok(page.data)
    }

    pub async fn invite(self, tenant: &str, body: &Invite) -> Result<IssuedInvitation, Problem> {
        self.create(format!("/tenants/{tenant}/invitations"), body).await
    }

    pub async fn revoke_invitation(self, tenant: &str, id: &str) -> Result<(), Problem> {
        self.call(Call::new(Method::DELETE, format!("/tenants/{tenant}/invitations/{id}"))).await
    }

    /// The preview of an invitation; needs no session.
    pub async fn preview_invitation(self, body: &PresentInvitation) -> Result<Offer, Problem> {
        send(&Call::new(Method::POST, "/invitations/preview".to_owned()).body(body), None).await
    }

    pub async fn accept_invitation(self, body: &PresentInvitation) -> Result<Tenant, Problem> {
        self.create("/invitations/accept".to_owned(), body).await
    }
}
