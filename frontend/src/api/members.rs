//! Members and invitations.

use gloo_net::http::Method;
use weir_wire::members::{
    ChangeMember, Invitation, Invite, IssuedInvitation, Member, Offer, PresentInvitation,
    RemovedMember,
};
use weir_wire::tenants::{Role, Tenant};

use super::request::{Call, send};
use super::{Answer, Api};

impl Api {
    /// The first 200 members of a tenant.
    pub fn members(self, tenant: &str) -> Answer<Vec<Member>> {
        self.list(format!("/tenants/{tenant}/members?limit=200"))
    }

    pub fn set_role(self, tenant: &str, user: &str, role: Role) -> Answer<Member> {
        let path = format!("/tenants/{tenant}/members/{user}");
        self.call(Call::new(Method::PATCH, path).body(&ChangeMember { role }))
    }

    /// Removes a member (`me` for the signed-in person). Returns what the member created in the tenant, if anything.
    pub fn remove_member(self, tenant: &str, user: &str) -> Answer<Option<RemovedMember>> {
        self.call(Call::new(Method::DELETE, format!("/tenants/{tenant}/members/{user}")))
    }

    /// The newest 200 open invitations.
    pub fn invitations(self, tenant: &str) -> Answer<Vec<Invitation>> {
        let path = format!("/tenants/{tenant}/invitations?limit=200");
        self.list(path)
    }

    pub fn invite(self, tenant: &str, body: &Invite) -> Answer<IssuedInvitation> {
        self.create(format!("/tenants/{tenant}/invitations"), body)
    }

    pub fn revoke_invitation(self, tenant: &str, id: &str) -> Answer<()> {
        self.call(Call::new(Method::DELETE, format!("/tenants/{tenant}/invitations/{id}")))
    }

    /// The preview of an invitation; needs no session.
    pub fn preview_invitation(self, body: &PresentInvitation) -> Answer<Offer> {
        send(Call::new(Method::POST, "/invitations/preview".to_owned()).body(body))
    }

    pub fn accept_invitation(self, body: &PresentInvitation) -> Answer<Tenant> {
        self.create("/invitations/accept".to_owned(), body)
    }
}
